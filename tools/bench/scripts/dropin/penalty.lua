-- A fixed window with a block for those who exceed it.
-- KEYS: counter, block; ARGV: limit, window in seconds, block in seconds.
if redis.call('EXISTS', KEYS[2]) == 1 then
  return {0, redis.call('TTL', KEYS[2])}
end
local count = redis.call('INCR', KEYS[1])
if count == 1 then
  redis.call('EXPIRE', KEYS[1], ARGV[2])
end
if count > tonumber(ARGV[1]) then
  redis.call('SET', KEYS[2], 1, 'EX', ARGV[3])
  return {0, tonumber(ARGV[3])}
end
return {1, 0}
