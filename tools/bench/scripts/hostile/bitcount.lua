redis.call('SETRANGE', 'hostile:bits', 100000, 'x')
while true do redis.call('BITCOUNT', 'hostile:bits') end
