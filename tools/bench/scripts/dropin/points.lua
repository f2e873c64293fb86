-- A fixed window in points, made before it is counted, with the time that is left.
-- KEYS[1]; ARGV: points, seconds.
redis.call('SET', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local used = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
return {used, left > 0 and 1 or 0}
