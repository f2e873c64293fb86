-- GCRA: one number, the theoretical arrival time of the next request.
-- KEYS[1]; ARGV: burst, emission interval in seconds.
local time = redis.call('TIME')
local now = tonumber(time[1]) - 1700000000 + tonumber(time[2]) / 1000000
local burst, interval = tonumber(ARGV[1]), tonumber(ARGV[2])
local arrival = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
local after = arrival + interval
local allowed = 0
if now >= after - burst * interval then
  redis.call('SET', KEYS[1], after, 'EX', math.ceil(after - now))
  allowed = 1
end
return {allowed, tostring(after - now)}
