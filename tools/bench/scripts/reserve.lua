-- Reserves the estimate of a request in the window of now, as gateways of language models do.
-- KEYS: the limit. ARGV: the limit, the window in milliseconds, the estimate. Returns 1 or 0.
local time = redis.call('TIME')
local window = math.floor((time[1] * 1000 + time[2] / 1000) / ARGV[2])
local key = KEYS[1] .. ':' .. window
local used = redis.call('INCRBY', key, ARGV[3])
redis.call('PEXPIRE', key, 2 * ARGV[2])
if used > tonumber(ARGV[1]) then
  redis.call('DECRBY', key, ARGV[3])
  return 0
end
return 1
