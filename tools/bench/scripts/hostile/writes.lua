local n = 0 while true do n = redis.call('INCR', 'hostile') end
