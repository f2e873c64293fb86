-- Several windows at once: counted in all or in none.
-- KEYS: a counter for each window; ARGV: limit and seconds for each.
for i = 1, #KEYS do
  local count = tonumber(redis.call('GET', KEYS[i]) or 0)
  if count >= tonumber(ARGV[2 * i - 1]) then
    return {0, i}
  end
end
for i = 1, #KEYS do
  if redis.call('INCR', KEYS[i]) == 1 then
    redis.call('EXPIRE', KEYS[i], ARGV[2 * i])
  end
end
return {1, 0}
