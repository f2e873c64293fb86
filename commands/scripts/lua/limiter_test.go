package lua_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/bitops"
	"limitsrv/commands/scripts/lua/cjson"
	"limitsrv/commands/scripts/lua/cstruct"
	"limitsrv/commands/scripts/lua/library"
	"limitsrv/commands/scripts/lua/value"
)

// limiters are scripts of the usual shapes. redis.call answers from a list that repeats.
var limiters = []struct {
	name, script string
	keys, args   []string
	replies      []value.Value
	want         string
}{
	{
		"fixed window", `
local n = redis.call("INCR", KEYS[1])
local ttl = redis.call("PTTL", KEYS[1])
if n == 1 or ttl < 0 then
	redis.call("PEXPIRE", KEYS[1], ARGV[1])
	ttl = tonumber(ARGV[1])
end
return {n, ttl}`,
		[]string{"user:1"}, []string{"60000"},
		[]value.Value{value.Number(3), value.Number(59000)}, "{:3, :59000}",
	},
	{
		"GCRA", `
local burst, rate, period = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local cost = tonumber(ARGV[4])
local now = redis.call("TIME")
local time = (now[1] - 1483228800) + (now[2] / 1000000)
local interval = period / rate
local increment = interval * cost
local offset = interval * burst
local tat = redis.call("GET", KEYS[1])
if not tat then tat = time else tat = tonumber(tat) end
tat = math.max(tat, time)
local new_tat = tat + increment
local allow_at = new_tat - offset
local diff = time - allow_at
local remaining = diff / interval
if remaining < 0 then
	return {0, 0, tostring(diff * -1), tostring(tat - time)}
end
local reset_after = new_tat - time
if reset_after > 0 then
	redis.call("SET", KEYS[1], new_tat, "EX", math.ceil(reset_after))
end
return {cost, remaining, tostring(-1), tostring(reset_after)}`,
		[]string{"user:1"}, []string{"10", "10", "1", "1"},
		[]value.Value{value.Null, value.False, value.True}, `{:1, :8, "-1", "0.10000002384186"}`,
	},
	{
		"sliding window", `
local limit, window, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local current = math.floor(now / window)
local this, last = KEYS[1] .. ":" .. current, KEYS[1] .. ":" .. (current - 1)
local counts = redis.call("MGET", this, last)
local share = 1 - (now % window) / window
local used = (tonumber(counts[1]) or 0) + math.floor((tonumber(counts[2]) or 0) * share)
if used >= limit then
	return {-1, limit - used}
end
local n = redis.call("INCRBY", this, 1)
if n == 1 then
	redis.call("EXPIRE", this, window * 2)
end
return {n, limit - used - 1}`,
		[]string{"user:1"}, []string{"100", "60", "1795162328"},
		[]value.Value{value.Null, value.Number(5)}, "{:5, :99}",
	},
}

// A bench is an environment whose redis.call answers from a list.
type bench struct {
	env        *lua.Env
	st         *lua.State
	keys, argv int
	texts      [][]byte // of the run: its keys and arguments
	replies    []value.Value
	at         int
	bound      map[string]int // constant command names, by the calls that were compiled with them
}

func newBench() *bench {
	b := &bench{bound: map[string]int{}}
	b.env = lua.NewEnv(lua.Texts{MissingGlobal: "no variable '%s'", ReadOnly: "read-only"})
	library.Open(b.env, library.Options{})
	cjson.Open(b.env)
	cstruct.Open(b.env)
	bitops.Open(b.env)
	redis := b.env.NewTable()
	answer := &lua.Function{Name: "call", One: b.call}
	call := &lua.Function{Name: "call", One: b.call, Bind: func(first *value.String) *lua.Function {
		b.bound[string(first.Bytes())]++
		return answer
	}}
	b.env.Register(redis, call)
	b.env.Set("redis", value.OfTable(redis))
	b.keys, b.argv = b.env.Variable("KEYS"), b.env.Variable("ARGV")
	b.st = lua.NewState(b.env)
	return b
}

// call answers the next reply: Null stands for the reply of TIME or MGET.
func (b *bench) call(st *lua.State, args []value.Value) value.Value {
	v := b.replies[b.at%len(b.replies)]
	b.at++
	if v.Kind() != value.NullKind {
		return v
	}
	t := st.Heap.NewTable(2, 0)
	t.SetInt(st.Heap, 1, value.OfString(st.Heap.CopyString("1795162328")))
	t.SetInt(st.Heap, 2, value.OfString(st.Heap.CopyString("123456")))
	if name, _ := args[0].String(); string(name.Bytes()) == "MGET" {
		t.SetInt(st.Heap, 1, value.False)
		t.SetInt(st.Heap, 2, value.False)
	}
	return value.OfTable(t)
}

// run runs a chunk once.
func (b *bench) run(chunk *lua.Chunk, keys, args [][]byte) value.Value {
	b.st.Reset(generous)
	b.at = 0
	b.texts = append(append(b.texts[:0], keys...), args...)
	setLists(b.st, b.keys, b.argv, b.texts, len(keys))
	results, err := b.st.Run(chunk)
	if err != nil {
		panic(err)
	}
	return results[0]
}

func bytesOf(texts []string) [][]byte {
	all := make([][]byte, len(texts))
	for i, text := range texts {
		all[i] = []byte(text)
	}
	return all
}

func TestLimitersAllocateNothing(t *testing.T) {
	for _, tt := range limiters {
		b := newBench()
		b.replies = tt.replies
		chunk, err := lua.Compile(b.env, []byte(tt.script), "@user_script")
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		keys, args := bytesOf(tt.keys), bytesOf(tt.args)
		if got := show(b.run(chunk, keys, args)); got != tt.want {
			t.Errorf("%s returns %s, want %s", tt.name, got, tt.want)
		}
		if n := testing.AllocsPerRun(100, func() { b.run(chunk, keys, args) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", tt.name, n)
		}
		if len(b.bound) == 0 {
			t.Errorf("%s: no command name was resolved when it was compiled", tt.name)
		}
	}
}

// TestLibraryAllocatesNothing covers functions that limiters use besides.
func TestLibraryAllocatesNothing(t *testing.T) {
	for _, script := range []string{
		"return struct.pack('Bc0I', 3, 'abc', 7)",
		"local n, s, i = struct.unpack('Bc0I', '\\003abcdefg') return s",
		"return string.format('%d %s %.9f', 5, 'x', 1.5)",
		"return ('a:b:c'):gsub(':', '-')",
		"return ('a:b'):match('(%a):(%a)')",
		"return ('abc'):find('b', 1, true)",
		"local t = {} for i = 1, 20 do table.insert(t, i) end table.sort(t) return table.concat(t, ',')",
		"local t = {} for k, v in pairs({a = 1, b = 2}) do t[v] = k end return unpack(t)",
		"local n = 0 for i, v in ipairs({1, 2, 3}) do n = n + v end return n",
		"return cjson.encode({a = {1, 2, 3}, b = 'x'})",
		"return cjson.decode('[1, {\"a\": \"b\\\\n\"}]')[1]",
		"local function f(...) return select('#', ...), ... end return f(1, 2)",
		"local n = 0 local function add(d) n = n + d return n end add(1) return add(2)",
		"return (pcall(function() return 1 end))",
		"return math.floor(1.5) + math.max(1, 2) + tonumber('12') + #tostring(1.5)",
		"return setmetatable({}, {__index = function(t, k) return k end}).x",
		"return ('x'):rep(10) .. ('X'):lower() .. ('abc'):sub(2)",
		"return redis.call('GET', KEYS[1])",
		"return bit.band(7, 3)",
	} {
		b := newBench()
		b.replies = []value.Value{value.Number(1)}
		chunk, err := lua.Compile(b.env, []byte(script), "@user_script")
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() { b.run(chunk, nil, nil) }); n != 0 {
			t.Errorf("%s: %v allocations, want 0", script, n)
		}
	}
}

// measure runs a benchmark and reports the CPU time, which other processes disturb less.
func measure(b *testing.B, run func()) {
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func BenchmarkLimiter(b *testing.B) {
	for _, tt := range limiters {
		b.Run(tt.name, func(b *testing.B) {
			bench := newBench()
			bench.replies = tt.replies
			chunk, err := lua.Compile(bench.env, []byte(tt.script), "@user_script")
			if err != nil {
				b.Fatal(err)
			}
			keys, args := bytesOf(tt.keys), bytesOf(tt.args)
			measure(b, func() { bench.run(chunk, keys, args) })
		})
	}
}

func BenchmarkLoop(b *testing.B) {
	for _, script := range []string{
		"local n = 0 for i = 1, 1000 do n = n + i end return n",
		"local function f(x) return x + 1 end local n = 0 for i = 1, 1000 do n = f(n) end return n",
		"local t = {} for i = 1, 1000 do t[i] = i end return #t",
		"local s = '' for i = 1, 1000 do s = 'x' .. i end return s",
		"return 1",
	} {
		b.Run(fmt.Sprintf("%.20s", script), func(b *testing.B) {
			bench := newBench()
			chunk, err := lua.Compile(bench.env, []byte(script), "@user_script")
			if err != nil {
				b.Fatal(err)
			}
			measure(b, func() { bench.run(chunk, nil, nil) })
		})
	}
}
