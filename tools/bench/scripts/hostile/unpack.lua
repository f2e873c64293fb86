local t = {}
for i = 1, 7000 do t[i] = i end
while true do local copy = {unpack(t)} end
