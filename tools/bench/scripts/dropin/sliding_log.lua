-- A sliding log in a sorted set, of at most the limit.
-- KEYS[1]; ARGV: limit, window in milliseconds.
local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window * 1000)
local used = redis.call('ZCARD', KEYS[1])
if used >= limit then
  return {0, used}
end
redis.call('ZADD', KEYS[1], now, now)
redis.call('PEXPIRE', KEYS[1], window)
return {1, used + 1}
