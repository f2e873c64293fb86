package commands

// functionScript is the part of redisScript about functions.
const functionScript = `
# libraries that do not load
FUNCTION
FUNCTION NOPE
FUNCTION LOAD
FUNCTION LOAD x
FUNCTION LOAD "return 1"
FUNCTION LOAD "#!lua\nreturn 1"
FUNCTION LOAD "#!lua"
FUNCTION LOAD "#!"
FUNCTION LOAD "#!lua name=x"
FUNCTION LOAD "#!lua name=x\n"
FUNCTION LOAD "#!lua name=x y=2\nreturn 1"
FUNCTION LOAD "#!lua name=x name=y\nreturn 1"
FUNCTION LOAD "#!lua name=\nreturn 1"
FUNCTION LOAD "#!lua name=a-b\nreturn 1"
FUNCTION LOAD "#!lua NAME=ab\nreturn 1"
FUNCTION LOAD "#!LUA name=ab\nredis.register_function('f0', function() end)"
? FUNCTION LIST
FUNCTION FLUSH
FUNCTION LOAD "#!js name=ab\nreturn 1"
FUNCTION LOAD "#! lua name=ab\nreturn 1"
FUNCTION LOAD "#!lua name=\"ab\nreturn 1"
FUNCTION LOAD "#!lua name=ab flags=no-writes\nreturn 1"
FUNCTION LOAD "#!lua name=ab\nreturn 1"
FUNCTION LOAD "#!lua name=ab\nx x"
FUNCTION LOAD "#!lua name=ab\n\nerror('x')"
FUNCTION LOAD "#!lua name=ab\nerror({err='MY x'})"
FUNCTION LOAD "#!lua name=ab\nredis.call('PING')"
FUNCTION LOAD "#!lua name=ab\nredis.pcall('PING')"
FUNCTION LOAD "#!lua name=ab\nredis.setresp(3)"
FUNCTION LOAD "#!lua name=ab\nreturn x"
FUNCTION LOAD "#!lua name=ab\nx = 1"
FUNCTION LOAD "#!lua name=ab\nKEYS = 1"
FUNCTION LOAD "#!lua name=ab\nreturn KEYS"
FUNCTION LOAD "#!lua name=ab\nredis.x = 1"
FUNCTION LOAD "#!lua name=ab\nreturn math.random()"
FUNCTION LOAD "#!lua name=ab\nredis.log(redis.LOG_NOTICE, 'x')"
FUNCTION LOAD "#!lua name=ab\nredis.log(1)"
FUNCTION LOAD "#!lua name=ab\nreturn redis.sha1hex('')"
FUNCTION LOAD "#!lua name=ab\nreturn redis.REDIS_VERSION"
FUNCTION LOAD "#!lua name=ab\nreturn redis.REPL_ALL"
FUNCTION LOAD "#!lua name=ab\nreturn redis.error_reply('x')"
FUNCTION LOAD "#!lua name=ab\nreturn redis.acl_check_cmd('get')"
FUNCTION LOAD "#!lua name=ab\nlocal t = {} for k, v in pairs(redis) do t[#t+1] = k end error(table.concat(t, ' '))"
FUNCTION LOAD "#!lua name=ab\nlocal t = {} for k, v in pairs(_G) do t[#t+1] = k end error(table.concat(t, ' '))"
FUNCTION LOAD "#!lua name=ab\nredis.register_function()"
FUNCTION LOAD "#!lua name=ab\nredis.register_function(1)"
FUNCTION LOAD "#!lua name=ab\nredis.register_function('f')"
FUNCTION LOAD "#!lua name=ab\nredis.register_function('f', 1)"
FUNCTION LOAD "#!lua name=ab\nredis.register_function(1, function() end)"
? FUNCTION LIST
FUNCTION FLUSH
FUNCTION LOAD "#!lua name=ab\nredis.register_function({}, function() end)"
FUNCTION LOAD "#!lua name=ab\nredis.register_function('f', function() end, {})"
FUNCTION LOAD "#!lua name=ab\nredis.register_function('f f', function() end)"
FUNCTION LOAD "#!lua name=ab\nredis.register_function('', function() end)"
FUNCTION LOAD "#!lua name=ab\nredis.register_function('f', function() end) redis.register_function('f', function() end)"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{}"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name='f'}"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{callback=function() end}"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name=1, callback=function() end}"
? FUNCTION LIST
FUNCTION FLUSH
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name={}, callback=function() end}"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name='f', callback=1}"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name='f', callback=function() end, x=1}"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name='f', callback=function() end, 1}"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name='f', callback=function() end, flags=1}"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name='f', callback=function() end, flags={'x'}}"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name='f', callback=function() end, flags={1}}"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name='f', callback=function() end, flags={{}}}"
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name='f', callback=function() end, flags={x='no-writes'}}"
? FUNCTION LIST
FUNCTION FLUSH
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name='f', callback=function() end, description=1}"
? FUNCTION LIST
FUNCTION FLUSH
FUNCTION LOAD "#!lua name=ab\nredis.register_function{function_name='f', callback=function() end, description={}}"
FUNCTION LOAD REPLACE "#!lua name=ab\nredis.register_function{function_name='f', callback=redis.log, description='hello'}"
? FUNCTION LIST
FUNCTION FLUSH
FUNCTION LOAD REPLACE "#!lua name=ab\nredis.register_function{function_name='f', callback=function(keys, args) return {keys, args} end, description='hello', flags={'no-writes', 'allow-oom', 'allow-stale', 'no-cluster'}}"
? FUNCTION LIST
FUNCTION FLUSH
FUNCTION LOAD REPLACE "#!lua name=ab\nredis.register_function{function_name='f', callback=function(keys, args) return {keys, args} end, flags={'allow-cross-slot-keys'}}"
? FUNCTION LIST
FUNCTION FLUSH
FUNCTION LOAD "#!lua name=ab\nredis.register_function('f', function() end)"
? FUNCTION LIST
FUNCTION FLUSH
FUNCTION LOAD "#!lua name=ac\nredis.register_function('f', function() end)"
? FUNCTION LIST
FUNCTION FLUSH
FUNCTION LOAD "#!lua name=AB\nredis.register_function('F', function(keys, args) return redis.call('NOPE') end)"
? FUNCTION LIST
FUNCTION FLUSH
FUNCTION LOAD FOO "#!lua name=ab\nredis.register_function('f', function() end)"

# libraries
FUNCTION LOAD replace replace "#!lua name=ab\nredis.register_function('f', function() end)"
FUNCTION LIST
FUNCTION LIST WITHCODE
FUNCTION LIST LIBRARYNAME
FUNCTION LIST LIBRARYNAME a*
FUNCTION LIST LIBRARYNAME x
FUNCTION LIST LIBRARYNAME a* LIBRARYNAME b
FUNCTION LIST WITHCODE WITHCODE
FUNCTION LIST x
FUNCTION STATS
FUNCTION STATS x
FUNCTION KILL
FUNCTION DELETE
FUNCTION DELETE x
FUNCTION FLUSH x
FUNCTION FLUSH SYNC ASYNC
FCALL
FCALL f
FCALL f x
FCALL f -1
FCALL f 1
FCALL f 0
FCALL F 0
FCALL g 0
FCALL g x
FCALL_RO g x
FCALL_RO F 0
FCALL f 1 a b
FCALL_RO f 1 a b
FUNCTION LOAD REPLACE "#!lua name=ab\nlocal r = redis redis.register_function('f', function(keys, args) return r.call('PING') end) redis.register_function('e', function() error('deep') end) redis.register_function('e2', function() error({err='MY x'}) end) redis.register_function('e3', function() return KEYS[1] end) redis.register_function('e4', function() x = 1 end) redis.register_function('e5', function() redis.register_function('x', function() end) end) redis.register_function('e6', function() return redis.call('GET') end) redis.register_function{function_name='ro', callback=function(keys) return redis.call('SET', keys[1], 'x') end, flags={'no-writes'}}"
FCALL f 0
FCALL e 0
FCALL e2 0
FCALL e3 0
FCALL e4 0
FCALL e5 0
FCALL e6 0
FCALL ro 1 k
FCALL_RO ro 1 k
FCALL_RO e 1 k
FUNCTION LOAD "#!lua name=up\nlocal n = 0 redis.register_function('up', function() n = n + 1 return n end) redis.register_function('env', function() local t = {} for k in pairs(redis) do t[#t+1] = k end table.sort(t) return table.concat(t, ' ') end) redis.register_function('glob', function() local t = {} for k in pairs(_G) do t[#t+1] = k end table.sort(t) return table.concat(t, ' ') end) redis.register_function('na', function(...) return {select('#', ...), ...} end)"
FCALL up 0
FCALL env 0
FCALL na 1 a b
MULTI
FUNCTION LOAD "#!lua name=m\nredis.register_function('mm', function() return 1 end)"
FCALL mm 0
FUNCTION DELETE m
FCALL mm 0
FUNCTION LIST LIBRARYNAME m
EXEC
COMMAND GETKEYS FCALL f 2 a b c
EVAL "return redis.call('FCALL', 'f', 0)" 0
EVAL "return redis.call('FUNCTION', 'LIST')" 0
FUNCTION FLUSH
FUNCTION LIST

# names of functions in any case, and of libraries in one
FUNCTION LOAD "#!lua name=one\nredis.register_function('Get', function(keys) return redis.call('GET', keys[1]) end)"
FUNCTION LOAD "#!lua name=ONE\nredis.register_function('get', function(keys) return redis.call('GET', keys[1]) end)"
FUNCTION LOAD REPLACE "#!lua name=two\nredis.register_function('GET', function(keys) return redis.call('GET', keys[1]) end)"
FCALL gET 1 nope
FCALL gET 0
FUNCTION LOAD REPLACE "#!lua name=one\nredis.register_function('get', function(keys) return error('x') end)"
FCALL GET 0
FUNCTION DELETE ONE
FUNCTION LIST LIBRARYNAME ""
FUNCTION LIST LIBRARYNAME O*
FUNCTION LIST LIBRARYNAME O* WITHCODE
FUNCTION STATS
FUNCTION FLUSH ASYNC
FUNCTION STATS

# replies, as those of scripts
FUNCTION LOAD "#!lua name=replies\nlocal function r(name, f) redis.register_function(name, f) end\nr('none', function() end) r('list', function(keys, args) return {keys, args, #keys, #args, 1.5, false, {ok = 'fine'}} end) r('err', function() return {err = 'My error'} end) r('ok', function() return redis.status_reply('x') end) r('resp3', function() redis.setresp(3) return true end) r('tail', function() return redis.pcall('NOPE') end)"
FCALL none 0
FCALL list 0
FCALL list 2 a b c d e
FCALL err 0
FCALL ok 0
FCALL resp3 0
FCALL tail 0
FCALL none 1
FUNCTION FLUSH SYNC

# keys
FUNCTION LOAD "#!lua name=keys\nlocal function add(keys, args) local n = redis.call('INCRBY', keys[1], args[1]) if n == tonumber(args[1]) then redis.call('EXPIRE', keys[1], 60) end return {n, redis.call('TTL', keys[1])} end\nredis.register_function('add', add)\nredis.register_function{function_name='drop', callback=function(keys) return redis.call('DEL', unpack(keys)) end, description='Drops keys', flags={}}\nredis.register_function{function_name='read', callback=function(keys) return redis.call('GET', keys[1]) end, flags={'no-writes', 'no-writes'}}"
FCALL add 1 {f} 3
FCALL add 1 {f} 3
FCALL_RO read 1 {f}
FCALL_RO add 1 {f} 3
FCALL read 1 {f}
FCALL add 1 {f} x
FCALL add 0
FCALL drop 2 {f} {f}2
MULTI
FCALL add 1 {f} 5
FUNCTION LOAD REPLACE "#!lua name=keys\nredis.register_function('add', function(keys) return redis.call('INCR', '{f}') end)"
FCALL add 1 {f}
FCALL add 0
FUNCTION FLUSH
FCALL add 0
EXEC
DEL {f}
MULTI
FCALL add 1
EXEC
`
