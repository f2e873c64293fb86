package scripts

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// A program has a name, a body that is repeated without end, and the text before it.
type program struct{ name, before, body string }

// programs use each kind of work of a script: statements, the functions of the libraries, memory,
// and commands.
var programs = []program{
	{"empty loop", "", ""},
	{"arithmetic", "local a = 1", "a = a * 3 % 7 + 1"},
	{"comparison", "local a = 1", "if a < 2 and a ~= 3 then a = 1 end"},
	{"local call", "local function f(x) return x end", "f(1)"},
	{"call with captured", "local function f(x) return function() return x end end", "f(1)"},
	{"tail call", "local function g() return 1 end local function f() return g() end", "f()"},
	{"vararg", "local function f(...) return select('#', ...) end", "f(1, 2, 3)"},
	{"method", "local o = {m = function() end}", "o:m()"},
	{"metamethod", "local o = setmetatable({}, {__add = function(a, b) return 1 end})", "local x = o + o"},
	{"pcall", "", "pcall(error, 'x')"},
	{"pcall of nothing", "local function f() end", "pcall(f)"},
	{"empty table", "", "local t = {}"},
	{"table of ten", "", "local t = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}"},
	{"table of names", "", "local t = {a = 1, b = 2, c = 3, d = 4, e = 5}"},
	{"array that grows", "local t, n = {}, 0", "n = n + 1 t[n] = n"},
	{"hash that grows", "local t, n = {}, 0.5", "n = n + 1 t[n] = n"},
	{"names that grow", "local t, n = {}, 0", "n = n + 1 t['k' .. n] = n"},
	{"read of array", "local t = {1, 2, 3}", "local x = t[2]"},
	{"read of name", "local t = {a = 1}", "local x = t.a"},
	{"read of a large hash", "local t = {} for i = 1, 5000 do t[i * 1.5] = i end local n = 0",
		"n = (n + 4507) % 5000 local x = t[n * 1.5]"},
	{"closures", "", "local f = function() end"},
	{"next", "local t = {a = 1, b = 2}", "next(t)"},
	{"pairs", "local t = {a = 1, b = 2, c = 3, d = 4}", "for k, v in pairs(t) do end"},
	{"ipairs", "local t = {1, 2, 3, 4}", "for i, v in ipairs(t) do end"},
	{"short concatenation", "local n = 0", "n = n + 1 local s = 'key:' .. n"},
	{"doubling", "local s = 'x'", "s = s .. s if #s > 1e6 then s = 'x' end"},
	{"long concatenation", "local s = ('x'):rep(1e5)", "local x = s .. 'y'"},
	{"long concatenation of many", "local s = ('x'):rep(1e4)", "local x = s .. s .. s .. s .. s .. s .. s .. s"},
	{"rep of 100", "", "local s = string.rep('x', 100)"},
	{"rep of 10000", "", "local s = string.rep('x', 10000)"},
	{"rep of 1e6", "", "local s = string.rep('x', 1000000)"},
	{"rep of 30e6", "", "local s = string.rep('x', 30000000)"},
	{"upper", "local s = ('x'):rep(10000)", "local x = s:upper()"},
	{"reverse", "local s = ('x'):rep(10000)", "local x = s:reverse()"},
	{"sub", "local s = ('x'):rep(10000)", "local x = s:sub(2)"},
	{"byte", "local s = ('x'):rep(7000)", "local x = s:byte(1, -1)"},
	{"short byte", "local s = 'abc'", "local x = s:byte(2)"},
	{"char", "", "local x = string.char(65, 66, 67)"},
	{"char of 200", "local t = {} for i = 1, 200 do t[i] = 65 end", "local x = string.char(unpack(t))"},
	{"length", "local s = 'abc'", "local x = s:len()"},
	{"format %d", "", "local s = string.format('%d', 5)"},
	{"format %s", "", "local s = string.format('%s:%s', 'a', 'b')"},
	{"format %.14g", "", "local s = string.format('%.14g', 0.1)"},
	{"format %.99f", "", "local s = string.format('%.99f', 1e300)"},
	{"format %99d many", "", "local s = string.format('%99d%99d%99d%99d%99d%99d%99d%99d', 1, 2, 3, 4, 5, 6, 7, 8)"},
	{"format long text", "local s = ('x'):rep(10000)", "local x = string.format('%s', s)"},
	{"format %q", "local s = ('\\n'):rep(10000)", "local x = string.format('%q', s)"},
	{"format of a long format", "local s = ('x'):rep(10000)", "local x = string.format(s)"},
	{"find plain", "local s = ('x'):rep(10000)", "local x = s:find('y', 1, true)"},
	{"find first letters", "local s = ('x'):rep(10000)", "local x = s:find('xxxxxxxxxxxy', 1, true)"},
	{"find long needle", "local s, n = ('x'):rep(10000), ('x'):rep(500) .. 'y'", "local x = s:find(n, 1, true)"},
	{"match", "", "local x = ('key:123'):match('(%a+):(%d+)')"},
	{"match of sets", "local s = ('x'):rep(1000)", "local x = s:match('[^%w_]')"},
	{"match backwards", "local s = ('x'):rep(1000)", "local x = s:match('.-.-y')"},
	{"match captures", "local s = ('a'):rep(100)", "local x = s:match('(.)(.)(.)(.)(.)(.)(.)(.)(.)(.)')"},
	{"match balance", "local s = ('('):rep(1000)", "local x = s:match('%b()')"},
	{"match reference", "local s = ('a'):rep(400)", "local x = s:match('(a*)b%1')"},
	{"gsub", "local s = ('x'):rep(1000)", "local x = s:gsub('x', 'y')"},
	{"gsub of nothing", "local s = ('x'):rep(1000)", "local x = s:gsub('', '-')"},
	{"gsub by function", "local s = ('x'):rep(1000)", "local x = s:gsub('x', function() return 'y' end)"},
	{"gsub by table", "local s, t = ('x'):rep(1000), {x = 'y'}", "local x = s:gsub('x', t)"},
	{"gsub long", "local s, t = ('x'):rep(100), ('y'):rep(1000)", "local x = s:gsub('x', t)"},
	{"gmatch", "local s = ('x '):rep(500)", "for w in s:gmatch('%a+') do end"},
	{"tostring", "", "local x = tostring(12345)"},
	{"tostring of fractions", "", "local x = tostring(0.1)"},
	{"tostring of tables", "local t = {}", "local x = tostring(t)"},
	{"tonumber", "", "local x = tonumber('12345')"},
	{"tonumber of fractions", "", "local x = tonumber('0.1234567890123456789e-200')"},
	{"tonumber of 250 digits", "local s = ('1'):rep(250)", "local x = tonumber(s)"},
	{"tonumber of base", "", "local x = tonumber('ff', 16)"},
	{"unpack of 10", "local t = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}", "local a = unpack(t)"},
	{"unpack of 7000", "local t = {} for i = 1, 7000 do t[i] = i end", "local a = unpack(t)"},
	{"unpack of 7000 to a table", "local t = {} for i = 1, 7000 do t[i] = i end", "local a = {unpack(t)}"},
	{"unpack of 7000 to select", "local t = {} for i = 1, 7000 do t[i] = i end", "local a = select('#', unpack(t))"},
	{"unpack of missing", "local t = {}", "local a = unpack(t, 1, 7000)"},
	{"unpack of a hash", "local t = {} for i = 7000, 1, -1 do t[i] = i end", "local a = unpack(t, 1, 7000)"},
	{"select", "", "local x = select(2, 1, 2, 3)"},
	{"insert", "local t = {}", "table.insert(t, 1)"},
	{"insert in front", "local t = {} for i = 1, 1000 do t[i] = i end", "table.insert(t, 1, 1) table.remove(t)"},
	{"remove", "local t = {} for i = 1, 1000 do t[i] = i end", "table.insert(t, 1) table.remove(t, 1)"},
	{"table.concat", "local t = {} for i = 1, 1000 do t[i] = 'abc' end", "local x = table.concat(t)"},
	{"table.concat of numbers", "local t = {} for i = 1, 1000 do t[i] = i / 3 end", "local x = table.concat(t)"},
	{"table.concat of long", "local t = {} for i = 1, 100 do t[i] = ('x'):rep(1000) end", "local x = table.concat(t)"},
	{"sort of sorted", "local t = {} for i = 1, 1000 do t[i] = i end", "table.sort(t)"},
	{"sort by function", "local t = {} for i = 1, 1000 do t[i] = i end", "table.sort(t, function(a, b) return a > b end)"},
	{"sort of texts", "local t = {} for i = 1, 1000 do t[i] = ('x'):rep(50) .. i end", "table.sort(t)"},
	{"foreach", "local t = {} for i = 1, 1000 do t[i] = i end", "table.foreach(t, function() end)"},
	{"maxn", "local t = {} for i = 1, 1000 do t[i] = i end", "table.maxn(t)"},
	{"getn", "local t = {} for i = 1, 1000 do t[i] = i end", "local x = #t"},
	{"border in a hash", "local t = {} for i = 2^20, 1, -2^10 do t[i] = i end t[1] = 1", "local x = #t"},
	{"comparison of texts", "local a, b = ('x'):rep(250) .. 'a', ('x'):rep(250) .. 'b'", "local x = a == b"},
	{"order of texts", "local a, b = ('x'):rep(1e5) .. 'a', ('x'):rep(1e5) .. 'b'", "local x = a < b"},
	{"key of new text", "local t, s = {}, ('x'):rep(250)", "local x = t[s:sub(2)]"},
	{"key of long new text", "local t, s = {}, ('x'):rep(1e5)", "local x = t[s:sub(2)]"},
	{"math.floor", "", "local x = math.floor(1.5)"},
	{"math.pow", "", "local x = 1.1 ^ 2.2"},
	{"math.sin", "", "local x = math.sin(1e22)"},
	{"math.fmod", "", "local x = math.fmod(1e308, 3e-300)"},
	{"modulo", "", "local x = 1e308 % 3e-300"},
	{"math.exp", "", "local x = math.exp(1.5)"},
	{"math.random", "", "local x = math.random(100)"},
	{"math.max", "", "local x = math.max(1, 2, 3)"},
	{"loadstring", "", "loadstring('return 1')"},
	{"loadstring of much", "local s = ('x = 1 '):rep(100)", "loadstring(s)"},
	{"loadstring of calls", "local s = ('f(g(h())) '):rep(100)", "loadstring(s)"},
	{"cjson.encode", "local t = {a = 1, b = {1, 2, 3}}", "local x = cjson.encode(t)"},
	{"cjson.encode of many", "local t = {} for i = 1, 1000 do t[i] = i end", "local x = cjson.encode(t)"},
	{"cjson.encode of fractions", "local t = {} for i = 1, 1000 do t[i] = i / 3 end", "local x = cjson.encode(t)"},
	{"cjson.encode of escapes", "local s = ('\\1'):rep(10000)", "local x = cjson.encode(s)"},
	{"cjson.encode of text", "local s = ('x'):rep(10000)", "local x = cjson.encode(s)"},
	{"cjson.decode", "", "local x = cjson.decode('{\"a\":1,\"b\":[1,2,3]}')"},
	{"cjson.decode of many", "local s = '[' .. ('1,'):rep(1000) .. '1]'", "local x = cjson.decode(s)"},
	{"cjson.decode of objects", "local s = '[' .. ('{},'):rep(1000) .. '1]'", "local x = cjson.decode(s)"},
	{"cjson.decode of depth", "local s = ('['):rep(900) .. (']'):rep(900)", "local x = cjson.decode(s)"},
	{"cjson.decode of escapes", "local s = '\"' .. ('\\\\n'):rep(10000) .. '\"'", "local x = cjson.decode(s)"},
	{"cjson.decode of text", "local s = '\"' .. ('x'):rep(10000) .. '\"'", "local x = cjson.decode(s)"},
	{"cjson.decode of too deep", "local s = ('['):rep(10000)", "pcall(cjson.decode, s)"},
	{"struct.pack", "", "local x = struct.pack('>I4d', 1, 2)"},
	{"struct.pack long", "local s = ('x'):rep(10000)", "local x = struct.pack('s', s)"},
	{"struct.unpack", "local s = struct.pack('>I4d', 1, 2)", "local x = struct.unpack('>I4d', s)"},
	{"bit.band", "", "local x = bit.band(1, 3)"},
	{"bit.tohex", "", "local x = bit.tohex(255)"},
	{"sha1hex", "", "local x = redis.sha1hex('abc')"},
	{"sha1hex of much", "local s = ('x'):rep(1e5)", "local x = redis.sha1hex(s)"},
	{"deep recursion", "local function f(n) if n > 0 then return 1 + f(n - 1) end return 1 end", "f(5000)"},
	{"deep recursion of closures", "local function f(n) local x = n if n > 0 then return 1 + f(x - 1), function() " +
		"return x end end return 1 end", "f(5000)"},
	{"error_reply", "", "local x = redis.error_reply('x')"},
	{"PING", "", "redis.call('PING')"},
	{"TIME", "", "redis.call('TIME')"},
	{"GET of nothing", "", "redis.call('GET', 'none')"},
	{"SET", "", "redis.call('SET', 'a', 'b')"},
	{"SET of new keys", "local n = 0", "n = n + 1 redis.call('SET', 'key:' .. n, n)"},
	{"SET of new long values", "local n, s = 0, ('x'):rep(1000)", "n = n + 1 redis.call('SET', 'key:' .. n, s)"},
	{"SET of long values", "local s = ('x'):rep(100000)", "redis.call('SET', 'a', s)"},
	{"GET of long values", "redis.call('SET', 'a', ('x'):rep(100000))", "redis.call('GET', 'a')"},
	{"INCR", "", "redis.call('INCR', 'n')"},
	{"HSET of new fields", "local n = 0", "n = n + 1 redis.call('HSET', 'h', n, n)"},
	{"ZADD of new members", "local n = 0", "n = n + 1 redis.call('ZADD', 'z', n, n)"},
	{"RPUSH", "local n = 0", "n = n + 1 redis.call('RPUSH', 'l', n)"},
	{"SADD of new members", "local n = 0", "n = n + 1 redis.call('SADD', 's', 'm' .. n)"},
	{"many words", "local t = {'SADD', 's'} for i = 1, 1000 do t[i + 2] = 'm' .. i end", "redis.call(unpack(t))"},
	{"many new words", "local t, n = {'DEL'}, 0 for i = 1, 1000 do t[i + 1] = 'm' .. i end", "redis.call(unpack(t))"},
	{"LRANGE", "for i = 1, 1000 do redis.call('RPUSH', 'l', i) end", "redis.call('LRANGE', 'l', 0, -1)"},
	{"HGETALL", "for i = 1, 1000 do redis.call('HSET', 'h', i, i) end", "redis.call('HGETALL', 'h')"},
	{"ZRANGE", "for i = 1, 1000 do redis.call('ZADD', 'z', i, i) end", "redis.call('ZRANGE', 'z', 0, -1)"},
	{"pcall of an error", "", "redis.pcall('INCR')"},
	{"wrong type", "redis.call('RPUSH', 'l', 1)", "redis.pcall('GET', 'l')"},
	{"unknown command", "", "redis.pcall('NONE')"},
	{"RL.TOKEN", "", "redis.call('RL.TOKEN', 'k', 10, '1/s')"},
	{"RL.TOKEN of new keys", "local n = 0", "n = n + 1 redis.call('RL.TOKEN', 'k' .. n, 10, '1/s')"},
	{"RL.LOG", "", "redis.call('RL.LOG', 'k', 100000, '1h')"},
	{"PUBLISH", "", "redis.call('PUBLISH', 'c', 'm')"},
	{"match deep", "local s, p = ('a'):rep(5000), ('a?'):rep(5000)", "local x = s:match(p)"},
	{"BITCOUNT", "redis.call('SETRANGE', 'b', 1e6, 'x')", "redis.call('BITCOUNT', 'b')"},
	{"SETRANGE far", "", "redis.call('SETRANGE', 'b', 1e7, 'x') redis.call('DEL', 'b')"},
	{"SETBIT far", "", "redis.call('SETBIT', 'b', 8e7, 1) redis.call('DEL', 'b')"},
	{"LPOS", "for i = 1, 10000 do redis.call('RPUSH', 'l', i) end", "redis.call('LPOS', 'l', 'x')"},
	{"LINDEX", "for i = 1, 10000 do redis.call('RPUSH', 'l', i) end", "redis.call('LINDEX', 'l', 5000)"},
	{"LINSERT", "for i = 1, 10000 do redis.call('RPUSH', 'l', i) end", "redis.call('LINSERT', 'l', 'BEFORE', 'x', 'y')"},
	{"LREM", "for i = 1, 10000 do redis.call('RPUSH', 'l', i) end", "redis.call('LREM', 'l', 0, 'x')"},
	{"SINTERCARD", "for i = 1, 10000 do redis.call('SADD', 's', i) redis.call('SADD', 'r', -i) end",
		"redis.call('SINTERCARD', 2, 's', 'r')"},
	{"SUNIONSTORE", "for i = 1, 10000 do redis.call('SADD', 's', i) end", "redis.call('SUNIONSTORE', 'd', 's')"},
	{"SDIFF", "for i = 1, 10000 do redis.call('SADD', 's', i) end", "redis.call('SDIFF', 's', 's')"},
	{"ZRANGESTORE", "for i = 1, 10000 do redis.call('ZADD', 'z', i, i) end", "redis.call('ZRANGESTORE', 'd', 'z', 0, -1)"},
	{"ZCOUNT", "for i = 1, 10000 do redis.call('ZADD', 'z', i, i) end", "redis.call('ZCOUNT', 'z', 10, 9000)"},
	{"ZLEXCOUNT", "for i = 1, 10000 do redis.call('ZADD', 'z', 0, i) end", "redis.call('ZLEXCOUNT', 'z', '-', '+')"},
	{"HSCAN", "for i = 1, 10000 do redis.call('HSET', 'h', i, i) end",
		"redis.call('HSCAN', 'h', 0, 'MATCH', 'none', 'COUNT', 1000)"},
	{"RENAME", "for i = 1, 10000 do redis.call('SADD', 's', i) end",
		"redis.call('RENAME', 's', 't') redis.call('RENAME', 't', 's')"},
	{"DEL of a set", "", "redis.call('SADD', 's', 1, 2, 3, 4, 5, 6, 7, 8, 9) redis.call('DEL', 's')"},
}

// cpuTime returns the time that the process has used of processors.
func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measured runs a script on a new node. It returns the processor time, with the garbage
// collector's, and the steps.
func (p program) measured(b *testing.B, end string, budget int64) (cpu time.Duration, steps int64) {
	n, text := newNode(), p.before+end
	s, wrong := Compile([]byte(text))
	if wrong != "" {
		b.Fatal(wrong)
	}
	runtime.GC()
	before := cpuTime()
	n.runAs(s.Modes(), budget, text, "0")
	return cpuTime() - before, n.e.Stats().RunStats.Steps
}

// BenchmarkCosts prints the time of a step in LightSteps of each program. All should need about
// the same, so that a budget of steps is a budget of time.
func BenchmarkCosts(b *testing.B) {
	for _, p := range programs {
		b.Run(p.name, func(b *testing.B) {
			var cpu time.Duration
			var steps int64
			for b.Loop() {
				once, first := p.measured(b, " return 1", 100*LightSteps)
				all, total := p.measured(b, " while true do "+p.body+" end", first+LightSteps)
				cpu += all - once
				steps += total - first
			}
			b.ReportMetric(float64(cpu)/float64(steps), "ns/step")
			b.ReportMetric(0, "ns/op")
		})
	}
}
