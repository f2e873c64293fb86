-- A sliding window estimated from two counters.
-- KEYS: this window, the previous one; ARGV: limit, window in milliseconds, time in
-- milliseconds.
local limit, window, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local current = tonumber(redis.call('GET', KEYS[1])) or 0
local previous = tonumber(redis.call('GET', KEYS[2])) or 0
local share = 1 - (now % window) / window
if math.floor(previous * share) + current >= limit then
  return {0, 0}
end
current = redis.call('INCR', KEYS[1])
if current == 1 then
  redis.call('PEXPIRE', KEYS[1], window * 2 + 1000)
end
return {1, limit - current - math.floor(previous * share)}
