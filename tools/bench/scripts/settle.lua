-- Corrects the window of now by the difference from an estimate to the actual use.
-- KEYS: the limit. ARGV: the window in milliseconds, the difference.
local time = redis.call('TIME')
local window = math.floor((time[1] * 1000 + time[2] / 1000) / ARGV[1])
local key = KEYS[1] .. ':' .. window
redis.call('INCRBY', key, ARGV[2])
redis.call('PEXPIRE', key, 2 * ARGV[1])
return 1
