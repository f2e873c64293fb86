-- A token bucket in two strings, with the time from the caller.
-- KEYS: tokens, time of the last refill; ARGV: rate a second, capacity, time in seconds.
local rate, capacity, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local ttl = math.max(1, math.floor(capacity / rate * 2))
local tokens = tonumber(redis.call('GET', KEYS[1])) or capacity
local refilled = tonumber(redis.call('GET', KEYS[2])) or 0
tokens = math.min(capacity, tokens + math.max(0, now - refilled) * rate)
local allowed = 0
if tokens >= 1 then
  tokens = tokens - 1
  allowed = 1
end
redis.call('SETEX', KEYS[1], ttl, tokens)
redis.call('SETEX', KEYS[2], ttl, now)
return {allowed, tokens}
