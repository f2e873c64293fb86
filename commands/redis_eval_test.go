package commands

// evalScript is the part of redisScript about scripts.
const evalScript = `
# arguments
EVAL "return 1"
EVAL "return 1" x
EVAL "return 1" -1
EVAL "return 1" 1
EVAL "" 0
EVAL "return {KEYS[1], KEYS[2], KEYS[3], ARGV[1], #ARGV}" 2 s t u v
EVALSHA x 0
EVALSHA x x
EVALSHA 0123456789012345678901234567890123456789 0
EVALSHA 0123456789012345678901234567890123456789 x
EVALSHA zzzz456789012345678901234567890123456789 0
EVAL "return 'once'" 0
EVALSHA d4f1d262a5b180fa757e5a401af891a24ed2979e 0
SCRIPT LOAD "return 'once'"
EVALSHA_RO d4f1d262a5b180fa757e5a401af891a24ed2979e 0
SCRIPT LOAD "return {KEYS[1], ARGV[1]}"
EVALSHA D006F1A90249474274C76F5BE725B8F5804A346B 1 s a
SCRIPT LOAD ""
SCRIPT LOAD "x x"
SCRIPT LOAD
SCRIPT EXISTS
SCRIPT EXISTS a e0e1f9fabfc9d4800c877a703b823ac0578ff8db
SCRIPT LOAD "return 1"
SCRIPT EXISTS a e0e1f9fabfc9d4800c877a703b823ac0578ff8db E0E1F9FABFC9D4800C877A703B823AC0578FF8DB
EVALSHA E0E1F9FABFC9D4800C877A703B823AC0578FF8DB 0
EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
SCRIPT FLUSH x
SCRIPT FLUSH SYNC ASYNC
SCRIPT FLUSH ASYNC
SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db
EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
SCRIPT FLUSH
SCRIPT KILL
SCRIPT NOPE
SCRIPT
COMMAND GETKEYS EVAL x 2 a b c
COMMAND GETKEYS EVALSHA_RO x 1 a b c

# transactions
MULTI
SCRIPT LOAD "return 7"
EVALSHA 59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9 0
EVAL "return redis.call('INCR', KEYS[1])" 1 {x}
EVAL "return redis.call('INCR', KEYS[1])" 1 {x}
SCRIPT FLUSH
EVAL "return redis.call('INCR', KEYS[1])" 1 {x}
SCRIPT EXISTS 59b6ab2fbe0ee4b25733de0f62e6cda4899ef8e9
GET {x}
EXEC
MULTI
EVAL "return redis.call('INCR', KEYS[1])" 1
EXEC
DEL {x}

# read-only
EVAL_RO "return redis.call('SET', KEYS[1], 'v')" 1 s
EVAL_RO "return redis.pcall('SET', KEYS[1], 'v')" 1 s
EVAL_RO "return redis.call('GET', KEYS[1])" 1 nope
EVAL "#!lua\nreturn 1" 0
EVAL "#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], 'v')" 1 s
EVAL "#!lua flags=no-writes,allow-oom,allow-stale,no-cluster\nreturn redis.call('GET', KEYS[1])" 1 nope
EVAL "#!lua flags=\nreturn 1" 0
EVAL "#!lua flags=foo\nreturn 1" 0
EVAL "#!lua flags=no-writes,\nreturn 1" 0
EVAL "#!lua name=foo\nreturn 1" 0
EVAL "#!luax\nreturn 1" 0
EVAL "#! lua\nreturn 1" 0
EVAL "#!\nreturn 1" 0
EVAL "#!lua" 0
EVAL "#!lua \"\nreturn 1" 0
EVAL "#!lua\nreturn x" 0
EVAL "#!lua\nreturn x x" 0
EVAL_RO "#!lua\nreturn 1" 0
EVAL_RO "#!lua flags=no-writes\nreturn 1" 0

# replies
EVAL "return 3.9" 0
EVAL "return -3.9" 0
EVAL "return 1e300" 0
EVAL "return 'x'" 0
EVAL "return ''" 0
EVAL "return true" 0
EVAL "return false" 0
EVAL "return nil" 0
EVAL "return" 0
EVAL "return 1, 2" 0
EVAL "return function() end" 0
EVAL "return cjson.null" 0
EVAL "return {}" 0
EVAL "return {1, 'a', true, {2, {3}}, nil, 4}" 0
EVAL "return {1, false, 4}" 0
EVAL "return {ok = 'fine'}" 0
EVAL "return {ok = 'a\\r\\nb'}" 0
EVAL "return {ok = 1}" 0
EVAL "return {err = 'My error'}" 0
EVAL "return {err = 'ONE'}" 0
EVAL "return {err = 'My\\r\\nerror\\r\\n'}" 0
EVAL "return {err = 1}" 0
EVAL "return {{err = 'My error'}, {ok = 'fine'}}" 0
EVAL "return {double = 1.5}" 0
EVAL "return {double = '1.5'}" 0
EVAL "return {map = {a = 1}}" 0
EVAL "return {map = {a = {map = {}}}}" 0
EVAL "return {set = {a = true}}" 0
EVAL "return {big_number = '123'}" 0
EVAL "return {verbatim_string = {string = 'x', format = 'txt'}}" 0
EVAL "return setmetatable({}, {__index = function(t, i) if i < 4 then return i end end})" 0
EVAL "redis.setresp(3) return true" 0
EVAL "redis.setresp(3) return false" 0
EVAL "redis.setresp(3) return {1, false, 2}" 0
EVAL "redis.setresp(3) return redis.call('GET', KEYS[1])" 1 nope
EVAL "redis.setresp(3) return tostring(redis.call('GET', KEYS[1]))" 1 nope
EVAL "return tostring(redis.call('GET', KEYS[1]))" 1 nope
EVAL "redis.setresp(3) return #redis.call('MGET', KEYS[1], KEYS[1])" 1 nope

# the table redis
EVAL "return redis.call()" 0
EVAL "return redis.pcall()" 0
EVAL "return redis.call({})" 0
EVAL "return redis.call(nil)" 0
EVAL "return redis.call('GET', nil)" 0
EVAL "return redis.pcall('GET', true)" 0
EVAL "return redis.call('NOPE')" 0
EVAL "return redis.pcall('NOPE')" 0
EVAL "return redis.call('', 'x')" 0
EVAL "return redis.call('GET')" 0
EVAL "return redis.call('GET', 'a', 'b')" 0
EVAL "return redis.call('EVAL', 'return 1', 0)" 0
EVAL "return redis.call('MULTI')" 0
EVAL "return redis.call('SUBSCRIBE', 'c')" 0
EVAL "return redis.call('PING')" 0
EVAL "return redis.call('ping', 'a')" 0
EVAL "return redis.call('ECHO', 'a')" 0
EVAL "return #redis.call('TIME')" 0
EVAL "local t = {} for k, v in pairs(redis.pcall('NOPE')) do t[#t + 1] = k .. '=' .. tostring(v) end table.sort(t) return t" 0
EVAL "local t = {} for k, v in pairs(redis.pcall()) do t[#t + 1] = k .. '=' .. tostring(v) end table.sort(t) return t" 0
EVAL "local t = {} for k, v in pairs(redis) do t[#t + 1] = k .. ':' .. type(v) end table.sort(t) return t" 0
EVAL "return redis.error_reply('x')" 0
EVAL "return redis.error_reply('X y')" 0
EVAL "return redis.error_reply('-X y\\r\\n')" 0
EVAL "return redis.error_reply('-X')" 0
EVAL "return redis.error_reply(1)" 0
EVAL "return redis.error_reply()" 0
EVAL "return redis.status_reply('x')" 0
EVAL "return redis.status_reply(1)" 0
EVAL "return redis.sha1hex('')" 0
EVAL "return redis.sha1hex(1)" 0
EVAL "return redis.sha1hex()" 0
EVAL "return redis.sha1hex({})" 0
EVAL "redis.log(1)" 0
EVAL "redis.log('a', 'b')" 0
EVAL "redis.log(7, 'b')" 0
EVAL "redis.log(redis.LOG_DEBUG, 'b')" 0
EVAL "return redis.setresp()" 0
EVAL "return redis.setresp(4)" 0
EVAL "return redis.setresp('x')" 0
EVAL "return redis.set_repl()" 0
EVAL "return redis.set_repl(9)" 0
EVAL "return redis.set_repl(redis.REPL_ALL)" 0
EVAL "return redis.replicate_commands()" 0
EVAL "return redis.breakpoint()" 0
EVAL "return tostring(redis.debug(1))" 0
EVAL "return redis.acl_check_cmd()" 0
EVAL "return redis.acl_check_cmd('NOPE')" 0
EVAL "return redis.acl_check_cmd('GET', 'x')" 0
EVAL "return redis.REDIS_VERSION" 0
EVAL "redis.call = 1" 0
EVAL "KEYS = {}" 0
EVAL "x = 1" 0
EVAL "return x" 0

# errors
EVAL "error('x')" 0
EVAL "\n\nerror('x')" 0
EVAL "error('x', 0)" 0
EVAL "error({err = 'My error'})" 0
EVAL "error({err = 'My\\r\\nerror'})" 0
EVAL "error()" 0
EVAL "error(true)" 0
EVAL "error(12)" 0
EVAL "local function f() error('deep') end\nf()" 0
EVAL "local function f() redis.call('NOPE') end\nf()" 0
EVAL "local ok, e = pcall(redis.call, 'NOPE') return {tostring(ok), e}" 0
EVAL "local ok, e = pcall(redis.call, 'GET') return {ok, type(e)}" 0
EVAL "local ok, e = pcall(function() error({err = 'My error'}) end) return {tostring(ok), e}" 0
EVAL "return redis.pcall('INCRBY', KEYS[1], 'x')" 1 n
EVAL "return {redis.pcall('INCRBY', KEYS[1], 'x'), 5}" 1 n
EVAL "return redis.call('INCRBY', KEYS[1], 'x')" 1 n
EVAL "local e = redis.pcall('NOPE') error(e)" 0
EVAL "local e = redis.pcall('NOPE') return e.err" 0
EVAL "return nil + 1" 0
EVAL "local t = nil\nreturn t.x" 0
EVAL "return redis.nope()" 0
EVAL "x" 0
EVAL "return 'unfinished" 0

# arguments of commands
EVAL "redis.call('SET', KEYS[1], 10) return redis.call('GET', KEYS[1])" 1 s
EVAL "redis.call('SET', KEYS[1], 1e15) return redis.call('GET', KEYS[1])" 1 s
EVAL "redis.call('SET', KEYS[1], 1.5) return redis.call('GET', KEYS[1])" 1 s
EVAL "redis.call('SET', KEYS[1], 0.1) return redis.call('GET', KEYS[1])" 1 s
EVAL "redis.call('SET', KEYS[1], -0) return redis.call('GET', KEYS[1])" 1 s
EVAL "redis.call('SET', KEYS[1], 1/0) return redis.call('GET', KEYS[1])" 1 s
EVAL "redis.call('SET', KEYS[1], '\\0\\r\\n') return redis.call('GET', KEYS[1])" 1 s
EVAL "redis.call('MSET', unpack(ARGV)) return redis.call('MGET', 'a', 'b', 'c')" 0 a 1 b 2
EVAL "return redis.call('DEL', unpack(KEYS))" 3 a b s

# limiters
EVAL "local n = redis.call('INCR', KEYS[1]) if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end if n > tonumber(ARGV[2]) then return {0, n, redis.call('TTL', KEYS[1])} end return {1, n, redis.call('TTL', KEYS[1])}" 1 w 60 2
EVAL "local n = redis.call('INCR', KEYS[1]) if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end if n > tonumber(ARGV[2]) then return {0, n, redis.call('TTL', KEYS[1])} end return {1, n, redis.call('TTL', KEYS[1])}" 1 w 60 2
EVAL "local n = redis.call('INCR', KEYS[1]) if n == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1]) end if n > tonumber(ARGV[2]) then return {0, n, redis.call('TTL', KEYS[1])} end return {1, n, redis.call('TTL', KEYS[1])}" 1 w 60 2
EVAL "local rate, burst, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])\nlocal ttl = math.floor(burst / rate * 2)\nlocal left = tonumber(redis.call('GET', KEYS[1])) or burst\nlocal last = tonumber(redis.call('GET', KEYS[2])) or 0\nlocal filled = math.min(burst, left + math.max(0, now - last) * rate)\nlocal allowed = filled >= cost\nif allowed then filled = filled - cost end\nredis.call('SETEX', KEYS[1], ttl, filled)\nredis.call('SETEX', KEYS[2], ttl, now)\nreturn {allowed, filled}" 2 {t}.left {t}.at 10 100 1700000000 30
EVAL "local rate, burst, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])\nlocal ttl = math.floor(burst / rate * 2)\nlocal left = tonumber(redis.call('GET', KEYS[1])) or burst\nlocal last = tonumber(redis.call('GET', KEYS[2])) or 0\nlocal filled = math.min(burst, left + math.max(0, now - last) * rate)\nlocal allowed = filled >= cost\nif allowed then filled = filled - cost end\nredis.call('SETEX', KEYS[1], ttl, filled)\nredis.call('SETEX', KEYS[2], ttl, now)\nreturn {allowed, filled}" 2 {t}.left {t}.at 10 100 1700000001 90
GET {t}.left
GET {t}.at
EVAL "local now = redis.call('TIME')\nlocal at = now[1] * 1000 + math.floor(now[2] / 1000)\nlocal every, burst = tonumber(ARGV[1]), tonumber(ARGV[2])\nlocal tat = math.max(at, tonumber(redis.call('GET', KEYS[1])) or at)\nif tat - at > every * burst then return {0, tat - at} end\nredis.call('SET', KEYS[1], string.format('%.0f', tat + every), 'PX', every * burst)\nreturn {1, math.floor((every * burst - (tat - at)) / every)}" 1 g 60000 5
EVAL "return redis.call('PTTL', KEYS[1]) > 290000" 1 g
DEL w {t}.left {t}.at g n
`
