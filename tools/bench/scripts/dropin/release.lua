-- Ends a lock that the caller holds, and takes it if it is free.
-- KEYS[1]; ARGV: token, seconds.
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then
  redis.call('DEL', KEYS[1])
  return {1, 0}
end
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2], 'NX')
end
return {0, 1}
