-- A token bucket as applications implement it: a hash of two fields, refilled on
-- use, expired when it is full again.
-- KEYS[1]; ARGV: capacity, tokens per millisecond, tokens requested.
local capacity = tonumber(ARGV[1])
local rate = tonumber(ARGV[2])
local asked = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(bucket[1]) or capacity
local at = tonumber(bucket[2]) or now
tokens = math.min(capacity, tokens + math.max(0, now - at) * rate)
local allowed = 0
if tokens >= asked then
  tokens = tokens - asked
  allowed = 1
end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('PEXPIRE', KEYS[1], math.ceil((capacity - tokens) / rate))
return {allowed, math.floor(tokens)}
