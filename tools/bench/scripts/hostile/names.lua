local t = {} for i = 1, 1e9 do t['name' .. i] = i end
