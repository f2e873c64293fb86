package lua_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/library"
	"limitsrv/commands/scripts/lua/syntax"
	"limitsrv/commands/scripts/lua/value"
	"limitsrv/internal/testing/testwait"
)

// run compiles and runs a script on a new state.
func run(t *testing.T, script string, limits lua.Limits) ([]value.Value, *lua.State, error) {
	t.Helper()
	env, _, _ := newEnv()
	chunk, err := lua.Compile(env, []byte(script), "@user_script")
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	st := lua.NewState(env)
	st.Reset(limits)
	results, err := st.Run(chunk)
	return results, st, err
}

// endless are scripts without an end, or with an end that is too far, by the limit that
// ends them.
var endless = []struct {
	limit  lua.LimitKind
	script string
}{
	{lua.StepLimit, "while true do end"},
	{lua.StepLimit, "repeat until false"},
	{lua.StepLimit, "for i = 1, 1e18 do end"},
	{lua.StepLimit, "for i = 2, 1, 0 do end"},
	{lua.StepLimit, "local function f() return f() end f()"},
	{lua.StepLimit, "while true do pcall(function() while true do end end) end"},
	{lua.StepLimit, "while true do xpcall(error, function() while true do end end) end"},
	{lua.StepLimit, "for k in function() return 1 end do end"},
	{lua.StepLimit, "for k in pairs({1}) do while true do end end"},
	{lua.StepLimit, "table.insert({}, -2147483648, 1)"},
	{lua.StepLimit, "string.find(('a'):rep(50), ('a?'):rep(50) .. ('a'):rep(50))"},
	{lua.StepLimit, "pcall(string.find, ('a'):rep(10000), ('.-'):rep(10) .. 'b')"},
	{lua.StepLimit, "string.gsub(('a'):rep(1000), 'a', function() while true do end end)"},
	{lua.StepLimit, "local t = {} for i = 1, 1000 do t[i] = i end table.sort(t, function(a, b) while true do end end)"},
	{lua.StepLimit, "local s = ('1'):rep(1e6) while true do local x = s + 1 end"},
	{lua.StepLimit, "local s = ('1'):rep(1e6) while true do tonumber(s) end"},
	{lua.StepLimit, "local a, b = ('x'):rep(1e6), ('x'):rep(1e6 - 1) .. 'x' while true do local x = a == b end"},
	{lua.StepLimit,
		"local a, b = ('x'):rep(1e6), ('x'):rep(1e6 - 1) .. 'x' local t = {[a] = 1} while true do local x = t[b] end"},
	{lua.StepLimit, "local a, b = ('x'):rep(1e6), ('x'):rep(1e6 - 1) .. 'x' while true do local x = a < b end"},
	{lua.StepLimit,
		"local t = {} for i = 1, 1e5 do t[i] = i end for i = 1, 1e5 do t[i] = nil end while true do next(t) end"},
	{lua.StepLimit,
		"local t = {} for i = 1, 1e5 do t[i] = i end for i = 1, 1e5 do t[i] = nil end while true do table.maxn(t) end"},
	{lua.StepLimit, "local t = {} for i = 1, 7000 do t[i] = i end local function f(...) return f(...) end f(unpack(t))"},
	{lua.StepLimit, "local s = '[' .. ('a'):rep(10000) .. ']' while true do ('b'):rep(1000):find(s) end"},
	{lua.StepLimit, "local s = ('x'):rep(1e6) while true do s:find('y', 1, true) end"},
	{lua.StepLimit, "local s = ('['):rep(1e6) while true do pcall(cjson.decode, s) end"},
	{lua.StepLimit, "local t, k = {} for i = 1, 2500 do k = struct.unpack('<d', struct.pack('<II', i, 0x41000000 - i)) " +
		"t[k] = i end while true do local x = t[k] end"},
	{lua.StepLimit, "local a = 1 while true do local x = a" + strings.Repeat(" + a", 20_000) + " end"},
	{lua.StepLimit, "local a = 1 while a" + strings.Repeat(" + a", 20_000) + " do end"},
	{lua.StepLimit, "local a = 1 while true do local x = {a" + strings.Repeat(", a", 20_000) +
		"} x = nil break end while true do end"},
	{lua.MemoryLimit, "local s = 'x' while true do s = s .. s end"},
	{lua.MemoryLimit,
		"local s = ('x'):rep(1e6) return s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s"},
	{lua.StringLimit, "return ('x'):rep(1e9)"},
	{lua.StringLimit, "pcall(string.rep, 'x', 1e9)"},
	{lua.MemoryLimit, "local t = {} for i = 1, 1e9 do t[i] = i end"},
	{lua.MemoryLimit, "local t = {} for i = 1, 1e9 do t['x' .. i] = i end"},
	{lua.MemoryLimit, "while true do local t = {} end"},
	{lua.StepLimit, "while true do local f = function() end end"},
	{lua.MemoryLimit, "return (('x'):rep(1e4):gsub('x', ('y'):rep(1e4)))"},
	{lua.MemoryLimit, "local t = {} for i = 1, 1e4 do t[i] = ('y'):rep(1000) end return table.concat(t, ('z'):rep(1e4))"},
	{lua.StepLimit, "load(function() return 'local x = 1 ' end)"},
	{lua.MemoryLimit, "local s = ('x = 1 '):rep(1e4) while true do loadstring(s) end"},
	{lua.MemoryLimit,
		"local t = {} for i = 1, 65535 do t['k' .. i] = 1 end for i = 1, 1e6 do t['n' .. i] = 1 t['n' .. i] = nil end"},
	{lua.StringLimit, "return cjson.encode({('\\1'):rep(1e6), ('\\1'):rep(1e6), ('\\1'):rep(1e6)})"},
	{lua.StepLimit, "local function f(...) return f(1, ...) end f()"},
	{lua.StringLimit, "return ('x'):rep(4194305)"},
	{lua.CallLimit, "local function f() return 1 + f() end pcall(f)"},
}

func TestLimitsEndScripts(t *testing.T) {
	limits := lua.Limits{Steps: 1_000_000, Memory: 16 << 20, String: 4 << 20, Calls: 5000}
	for _, tt := range endless {
		testwait.Within(t, 2*time.Second, tt.script, func() {
			_, _, err := run(t, tt.script, limits)
			var e *lua.Error
			if !errors.As(err, &e) || e.Limit != tt.limit {
				t.Errorf("%s\n ends with %v, want limit %d", tt.script, err, tt.limit)
			}
		})
	}
}

func TestDeepScriptsEnd(t *testing.T) {
	for _, script := range []string{
		"return " + strings.Repeat("1 .. ", 150) + "1",
		"local a = {} a.b = a return a" + strings.Repeat(".b", 100_000),
		"local a = 1 return a" + strings.Repeat(" + a", 100_000),
		"local a = 1 return a" + strings.Repeat(" == a", 50_000),
		"local function f() return f end return f" + strings.Repeat("()", 50_000),
		"local function f(n) return " + strings.Repeat("(1 + ", 90) + "f(n + 1)" + strings.Repeat(")", 90) +
			" end return f(1)",
		"local t = {} for i = 1, 1e5 do t = {t} end return #t",
		"return " + strings.Repeat("-", 150) + "1",
		strings.Repeat("a = 1 ", 10_000),
		strings.Repeat("do local x = 1 ", 190) + strings.Repeat("end ", 190),
	} {
		env, _, _ := newEnv()
		chunk, err := lua.Compile(env, []byte(script), "@user_script")
		if err != nil {
			t.Errorf("%.60s: %v", script, err)
			continue
		}
		st := lua.NewState(env)
		st.Reset(generous)
		if _, err := st.Run(chunk); err != nil && strings.Contains(err.Error(), "limit") {
			t.Errorf("%.60s: %v", script, err)
		}
	}
}

func TestTooDeepScripts(t *testing.T) {
	env, _, _ := newEnv()
	for _, script := range []string{
		"return a" + strings.Repeat(".b", 1_000_000),
		"return a" + strings.Repeat(" + a", 1_000_000),
		"return (function() return a" + strings.Repeat("()", 1_000_000) + " end)",
	} {
		_, err := lua.Compile(env, []byte(script), "@user_script")
		if want := "user_script:1: chunk has too many syntax levels"; err == nil || err.Error() != want {
			t.Errorf("%.30s: %v, want %s", script, err, want)
		}
	}
}

func TestStepsAreTheSameOnEachRun(t *testing.T) {
	for _, script := range []string{
		"local n = 0 for i = 1, 100 do n = n + i end return n",
		"local t = {} for i = 1, 50 do t['k' .. i] = i end for k, v in pairs(t) do t[k] = nil end return #t",
		"local t = {} for i = 1, 50 do t[i] = math.random(100) end table.sort(t) return table.concat(t, ',')",
		"return (('hello world'):gsub('o', function(s) return s:upper() end))",
		"local t = {} for i = 1, 20 do t[{}] = function() end end local n = 0 for k in pairs(t) do n = n + 1 end return " +
			"tostring(next(t)) .. n",
		"return cjson.encode(cjson.decode('[1,{\"a\":[]}]'))",
		"local function f(n) local m = n local g = function() return m end if n == 0 then return 0 end return 1 + f(n - 1) " +
			"end return f(2000)",
		"local function f(...) return select('#', ...) end local t = {} for i = 1, 3000 do t[i] = i end return f(unpack(t))",
	} {
		first, st, err := run(t, script, generous)
		if err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		want, steps, used := show(first[0]), st.StepsLeft(), st.Heap.Used()
		env, _, _ := newEnv()
		again := lua.NewState(env)
		for _, other := range []string{"return 1", "return ('x'):rep(1000)", "error({})", script, script} {
			chunk, err := lua.Compile(env, []byte(other), "@user_script")
			if err != nil {
				t.Fatal(err)
			}
			again.Reset(generous)
			results, _ := again.Run(chunk)
			if other != script {
				continue
			}
			if got := show(results[0]); got != want || again.StepsLeft() != steps || again.Heap.Used() != used {
				t.Errorf("%s\n got %s, %d steps left, %d bytes\nwant %s, %d, %d", script, got, again.StepsLeft(), again.Heap.Used(),
					want, steps, used)
			}
		}
	}
}

func TestErrorsNameSourceAndLine(t *testing.T) {
	for _, tt := range []struct {
		script, text, source string
		line                 int
	}{
		{"local x\n\nx()", "user_script:3: attempt to call local 'x' (a nil value)", "@user_script", 3},
		{"\nlocal function f()\nerror('oh')\nend\nf()", "user_script:3: oh", "@user_script", 3},
		{"\nlocal function f()\nerror('oh', 2)\nend\nf()", "user_script:5: oh", "@user_script", 3},
		{"error({})", "(error object is a table value)", "@user_script", 1},
		{"\nstring.rep()", "user_script:2: bad argument #1 to 'rep' (string expected, got no value)", "@user_script", 2},
		{"\nlocal t = setmetatable({}, {__index = function(t, k)\nreturn k.x.y end})\nreturn t.z",
			"user_script:3: attempt to index field 'x' (a nil value)", "@user_script", 3},
		{"local f = loadstring('\\n\\nerror(1)', '=part') f()", "part:3: 1", "=part", 3},
		{"return 1 +\n{}", "user_script:2: attempt to perform arithmetic on a table value", "@user_script", 2},
		{"local a = {}\na.b\n.c\n.d = 1", "user_script:3: attempt to index field 'b' (a nil value)", "@user_script", 3},
	} {
		_, _, err := run(t, tt.script, generous)
		var e *lua.Error
		if !errors.As(err, &e) || e.Error() != tt.text || e.Source != tt.source || e.Line != tt.line {
			t.Errorf("%q: %v, source %q, line %d\nwant %s, %q, %d", tt.script, err, e.Source, e.Line, tt.text, tt.source,
				tt.line)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	env, _, _ := newEnv()
	_, err := lua.Compile(env, []byte("x"), "@user_script")
	var e *syntax.Error
	if want := "user_script:1: '=' expected near '<eof>'"; !errors.As(err, &e) || e.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestLimitTexts(t *testing.T) {
	env := lua.NewEnv(lua.Texts{Limits: [...]string{lua.StepLimit: "used up its budget of %d steps",
		lua.MemoryLimit: "too large", lua.CallLimit: ""}})
	library.Open(env, library.Options{})
	st := lua.NewState(env)
	for script, want := range map[string]string{
		"while true do end":          "used up its budget of 1000 steps",
		"return ('x'):rep(2e4)":      "too large",
		"return missing":             "",
		"local x = missing.y":        "user_script:1: attempt to index global 'missing' (a nil value)",
		"x = 1":                      "user_script:1: ",
		"string.format = 1 return 1": "user_script:1: ",
	} {
		chunk, err := lua.Compile(env, []byte(script), "@user_script")
		if err != nil {
			t.Fatal(err)
		}
		st.Reset(lua.Limits{Steps: 1000, Memory: 10_000})
		_, err = st.Run(chunk)
		if got := ""; err != nil {
			if got = err.Error(); got != want {
				t.Errorf("%s: %q, want %q", script, got, want)
			}
		} else if want != "" {
			t.Errorf("%s: no error, want %q", script, want)
		}
	}
}

func TestFunctionsOfGo(t *testing.T) {
	env, _, _ := newEnvWithGo()
	for script, want := range map[string]string{
		"return sum(1, 2, '3')":                                       ":6",
		"return sum()":                                                ":0",
		"return {pair(5)}":                                            "{:5, :5}",
		"return {pair(5), pair(6)}":                                   "{:5, :6, :6}",
		"return {(pair(5))}":                                          "{:5}",
		"return call('GET', 1)":                                       `"bound GET 2"`,
		"local c = 'GET' return call(c, 1)":                           `"free 2"`,
		"local f = call return f('GET')":                              `"free 1"`,
		"return {pcall(fail, {err = 'x'})}":                           `{nil, "x"}`,
		"local ok, e = pcall(fail, {err = 7}) return e":               ":7",
		"local ok, e = pcall(sum, {}) return e":                       `"bad argument #1 to '?' (number expected, got table)"`,
		"local ok, e = pcall(function() sum({}) end) return e":        `"user_script:1: bad argument #1 to 'sum' (number expected, got table)"`,
		"return apply(function(a, b) return a - b end, 5, 3)":         ":2",
		"return apply(function(a, b) return a - b end, 5)":            "error",
		"local n = 0 for i = 1, 10 do n = n + sum(i, n) end return n": ":2036",
		"return select('#', apply(function() end))":                   ":1",
	} {
		chunk, err := lua.Compile(env, []byte(script), "@user_script")
		if err != nil {
			t.Fatal(err)
		}
		st := lua.NewState(env)
		st.Reset(generous)
		results, err := st.Run(chunk)
		got := "error"
		if err == nil {
			got = show(results[0])
		}
		if got != want {
			t.Errorf("%s = %s (%v), want %s", script, got, err, want)
		}
	}
}

// newEnvWithGo returns an environment with some functions of Go.
func newEnvWithGo() (*lua.Env, int, int) {
	env, keys, argv := newEnv()
	bound := func(name string) *lua.Function {
		return &lua.Function{Name: "call", One: func(st *lua.State, args []value.Value) value.Value {
			return st.NewText("bound " + name + " " + string('0'+rune(len(args))))
		}}
	}
	env.Register(nil,
		&lua.Function{Name: "sum", One: func(st *lua.State, args []value.Value) value.Value {
			total := 0.0
			for i := range args {
				total += st.Number(args, i)
			}
			return value.Number(total)
		}},
		&lua.Function{Name: "pair",
			Many: func(st *lua.State, args []value.Value) []value.Value { return st.Results(args[0], args[0]) }},
		&lua.Function{Name: "fail", One: func(st *lua.State, args []value.Value) value.Value {
			st.Raise(args[0])
			return value.Nil
		}},
		&lua.Function{Name: "call", One: func(st *lua.State, args []value.Value) value.Value {
			return st.NewText("free " + string('0'+rune(len(args))))
		}, Bind: func(first *value.String) *lua.Function { return bound(string(first.Bytes())) }},
		&lua.Function{Name: "apply", One: func(st *lua.State, args []value.Value) value.Value {
			results := st.Call(args[0], args[1:])
			if len(results) == 0 {
				return value.Nil
			}
			return results[0]
		}},
	)
	return env, keys, argv
}

func TestLargeRunsLeaveNothing(t *testing.T) {
	env, _, _ := newEnv()
	st := lua.NewState(env)
	for _, script := range []string{
		"local s = ('x'):rep(50e6) return (s:find('y'))",
		"local t = {} for i = 1, 1e6 do t[i] = i end return #t",
		"local t = {} for i = 1, 1e5 do t['k' .. i] = {} end return 1",
		"local function f(n) if n == 0 then return 0 end return 1 + f(n - 1) end return f(15000)",
		"error(('x'):rep(20e6))",
		"pcall(error, ('x'):rep(20e6)) return 1",
		"return (('x'):rep(1e6):gsub('x', 'yz'))",
	} {
		chunk, err := lua.Compile(env, []byte(script), "@user_script")
		if err != nil {
			t.Fatal(err)
		}
		st.Reset(generous)
		_, _ = st.Run(chunk)
		st.Reset(generous)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if most := uint64(16 << 20); m.HeapAlloc > most {
			t.Errorf("%s: %d bytes are in use after its run, want at most %d", script, m.HeapAlloc, most)
		}
	}
}

func TestStatesShareChunks(t *testing.T) {
	env, keys, _ := newEnv()
	var chunks []*lua.Chunk
	for seed := range uint64(20) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 4))}
		if chunk, err := lua.Compile(env, []byte(join(g.program())), "@user_script"); err == nil {
			chunks = append(chunks, chunk)
		}
	}
	if len(chunks) < 10 {
		t.Fatalf("%d of 20 programs are valid", len(chunks))
	}
	replies := make([][]string, 4)
	var wait sync.WaitGroup
	for i := range replies {
		wait.Go(func() {
			st := lua.NewState(env)
			for _, chunk := range chunks {
				st.Reset(generous)
				st.Set(keys, st.NewText("key"))
				reply := "error"
				if results, err := st.Run(chunk); err == nil {
					reply = addresses.ReplaceAllString(show(results[0]), "$1")
				}
				replies[i] = append(replies[i], reply)
			}
		})
	}
	wait.Wait()
	for i := range replies {
		if !slices.Equal(replies[i], replies[0]) {
			t.Errorf("state %d replies %q, state 0 %q", i, replies[i], replies[0])
		}
	}
}

func TestCoroutinesAreRefused(t *testing.T) {
	for _, script := range []string{"coroutine.wrap(function() end)", "coroutine.create(function() end)",
		"coroutine.yield()"} {
		_, _, err := run(t, script, generous)
		if want := "user_script:1: coroutines are not supported"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", script, err, want)
		}
	}
}
