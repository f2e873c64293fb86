-- A fixed window that does not count denied requests.
-- KEYS[1]; ARGV: limit, window in seconds.
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
if count >= tonumber(ARGV[1]) then
  return {0, redis.call('TTL', KEYS[1])}
end
count = redis.call('INCR', KEYS[1])
if redis.call('TTL', KEYS[1]) == -1 then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
return {1, count}
