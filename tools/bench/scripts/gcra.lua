-- A token bucket as applications implement it in a string, the leanest form: the time at
-- which the bucket is full again, when the key expires.
-- KEYS[1]; ARGV: capacity, microseconds per token, tokens requested.
local capacity = tonumber(ARGV[1])
local interval = tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full = math.max(now, tonumber(redis.call('GET', KEYS[1])) or now)
local owed = full - now + tonumber(ARGV[3]) * interval
local allowed = 0
if owed <= capacity * interval then
  redis.call('SET', KEYS[1], now + owed, 'PX', math.ceil(owed / 1000))
  allowed = 1
else
  owed = full - now
end
return {allowed, math.floor(capacity - owed / interval)}
