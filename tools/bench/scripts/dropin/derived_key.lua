-- A fixed window whose key the script makes, which Redis allows outside of a cluster.
-- KEYS[1]; ARGV: limit, window in seconds.
local key = 'window:' .. KEYS[1] .. ':' .. ARGV[2]
local count = redis.call('INCR', key)
if count == 1 then
  redis.call('EXPIRE', key, ARGV[2])
end
return {count <= tonumber(ARGV[1]) and 1 or 0, count}
