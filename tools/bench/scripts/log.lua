-- A sliding log as applications implement it: a sorted set of the times of allowed
-- requests.
-- KEYS[1]; ARGV: limit, window in milliseconds.
local limit = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window * 1000)
local used = redis.call('ZCARD', KEYS[1])
local allowed = 0
if used < limit then
  redis.call('ZADD', KEYS[1], now, now)
  redis.call('PEXPIRE', KEYS[1], window)
  used = used + 1
  allowed = 1
end
return {allowed, limit - used}
