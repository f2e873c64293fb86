package scripts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/enginetest"
	"limitsrv/internal/testing/testwait"
)

// load loads a library, and returns the answer in RESP2.
func (n *node) load(text string) string {
	return n.call(func(c *engine.Call) { SetLoad(c, []byte(text), true) })
}

// fcall runs a function with the modes that follow from it.
func (n *node) fcall(name string, args ...string) string {
	f := FindFunction(n.e.Documents(engine.Libraries), []byte(name))
	return n.fcallAs(f.Modes(), name, args...)
}

func (n *node) fcallAs(modes Modes, name string, args ...string) string {
	return n.call(func(c *engine.Call) { SetFunctionRun(c, modes, Steps(DefaultSteps), []byte(name), bytesOf(args)) })
}

func (n *node) call(set func(c *engine.Call)) string {
	n.batch.Reset()
	set(n.batch.AddCall(0))
	n.e.Apply(n.now, &n.batch)
	return respOf(&n.batch.Calls[0])
}

const limiterLibrary = `#!lua name=limiter
local function window(keys, args)
	local n = redis.call('INCR', keys[1])
	if n == 1 then
		redis.call('PEXPIRE', keys[1], args[1])
	end
	return {n <= tonumber(args[2]), n, redis.call('PTTL', keys[1])}
end
redis.register_function('window', window)
redis.register_function{function_name = 'count', callback = function(keys) return redis.call('GET', keys[1]) end, flags = {'no-writes'}}
`

// TestFunctionsDoNotAllocate runs functions again and again.
func TestFunctionsDoNotAllocate(t *testing.T) {
	testwait.Sequential(t)
	n := newNode()
	if got := n.load(limiterLibrary); got != "$7|limiter|" {
		t.Fatal(got)
	}
	for name, args := range map[string][]string{"window": {"1", "user:1", "60000", "5"}, "count": {"1", "user:1"}} {
		modes := FindFunction(n.e.Documents(engine.Libraries), []byte(name)).Modes()
		if want := map[string]Modes{"window": Declared, "count": Declared | Looks}[name]; modes != want {
			t.Errorf("%s: modes %b, want %b", name, modes, want)
		}
		words, steps, line := bytesOf(args), Steps(DefaultSteps), []byte(name)
		each := func() {
			n.batch.Reset()
			SetFunctionRun(n.batch.AddCall(0), modes, steps, line, words)
			n.e.Apply(n.now, &n.batch)
		}
		each()
		if got := testing.AllocsPerRun(200, each); got > 0 {
			t.Errorf("%s: %v allocations for a run", name, got)
		}
	}
}

// TestModesOfFunctions checks the keys and reads that follow from the text of a library.
func TestModesOfFunctions(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       Modes
	}{
		{"a callback in place", "redis.register_function('f', function(keys) return redis.call('INCR', keys[1]) end)",
			Declared},
		{"a field in place", "redis.register_function{callback = function(k) return redis.call('GET', k[1]) end, " +
			"function_name = 'f'}", Declared | Looks},
		{"a local function", "local function f(keys) return redis.call('INCR', keys[1]) end redis.register_function('f', f)",
			Declared},
		{"a local variable",
			"local f = function(keys) return redis.call('INCR', keys[1]) end redis.register_function('f', f)", Declared},
		{"a key in a variable",
			"redis.register_function('f', function(keys) local k = keys[1] return redis.call('INCR', k) end)", Declared},
		{"the number of keys", "redis.register_function('f', function(keys) if #keys > 1 then return redis.call('INCR', " +
			"keys[1]) end end)", Declared},
		{"two names of one", "local function f(keys) return redis.call('INCR', keys[1]) end redis.register_function('f', " +
			"f) redis.register_function('g', f)", Declared},
		{"a message", "redis.register_function('f', function(keys) return redis.call('PUBLISH', 'c', keys[1]) end)",
			Declared | Ordered},
		{"a constant key", "redis.register_function('f', function(keys) return redis.call('INCR', 'k') end)", 0},
		{"an argument", "redis.register_function('f', function(keys, args) return redis.call('INCR', args[1]) end)", 0},
		{"other keys", "redis.register_function('f', function(keys) keys = {'k'} return redis.call('INCR', keys[1]) end)", 0},
		{"a changed key", "redis.register_function('f', function(keys) keys[1] = 'k' return redis.call('INCR', keys[1]) end)",
			0},
		{"keys that go on",
			"redis.register_function('f', function(keys) table.insert(keys, 1, 'k') return redis.call('INCR', keys[1]) end)", 0},
		{"a function of both kinds", "local function f(keys) return redis.call('INCR', keys[1]) end " +
			"redis.register_function('f', f) redis.register_function('g', function() return f({'k'}) end)", 0},
		{"a function with another name", "local function f(keys) return redis.call('INCR', keys[1]) end local g = f " +
			"redis.register_function('f', f) redis.register_function('g', function() return g({'k'}) end)", 0},
		{"a helper", "local function h(k) return redis.call('INCR', k[1]) end redis.register_function('f', function(keys) " +
			"return h({'k'}) end)", 0},
		{"captured keys", "redis.register_function('f', function(keys) local function g() keys = {'k'} end g() return " +
			"redis.call('INCR', keys[1]) end)", 0},
		{"another assignment", "local function f(keys) return redis.call('INCR', keys[1]) end f = function() return " +
			"redis.call('INCR', 'k') end redis.register_function('f', f)", 0},
		{"any command", "redis.register_function('f', function(keys, args) return redis.call(args[1], keys[1]) end)", 0},
		{"the variable of a script", "redis.register_function('f', function() return redis.call('GET', KEYS[1]) end)",
			Declared | Looks},
	} {
		n := newNode()
		if got := n.load("#!lua name=l\n" + tt.body); got != "$1|l|" {
			t.Fatalf("%s: %s", tt.name, got)
		}
		if got := FindFunction(n.e.Documents(engine.Libraries), []byte("f")).Modes(); got != tt.want {
			t.Errorf("%s: modes %b, want %b", tt.name, got, tt.want)
		}
		if got := n.fcall("f", "1", "key", "arg"); strings.Contains(got, "declared") {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

// TestReplacedFunctions runs functions that were replaced after the caller had looked.
func TestReplacedFunctions(t *testing.T) {
	n := newNode()
	n.load("#!lua name=l\nredis.register_function('f', function() return redis.call('INCR', 'k') end)")
	for _, modes := range []Modes{Declared, Looks, Declared | Looks} {
		if got := n.fcallAs(modes, "f", "0"); !strings.HasPrefix(got, "-TRYAGAIN ") {
			t.Errorf("modes %b: %s, want TRYAGAIN", modes, got)
		}
	}
	n.load("#!lua name=p\nredis.register_function('p', function(keys) return redis.call('PUBLISH', 'c', keys[1]) end)")
	for modes, want := range map[Modes]string{0: ":0|", Declared: "-TRYAGAIN ", Declared | Ordered: ":0|",
		Declared | Looks: "-TRYAGAIN "} {
		if got := n.fcallAs(modes, "p", "1", "k"); !strings.HasPrefix(got, want) {
			t.Errorf("a message with modes %b: %s, want %s", modes, got, want)
		}
	}
	if got := n.fcallAs(0, "f", "0"); got != ":1|" {
		t.Errorf("without modes: %s", got)
	}
	n.load(limiterLibrary)
	if got := n.fcallAs(0, "window", "1", "w", "9", "1"); got != "*3|:1|:1|:9|" {
		t.Errorf("more modes than the caller knew: %s", got)
	}
}

// TestManyLibraries keeps more text than may be compiled, and runs functions of all.
func TestManyLibraries(t *testing.T) {
	compiled.setMost(t, 1<<20)
	n := newNode()
	for i := range 30 {
		text := fmt.Sprintf("#!lua name=l%d\nlocal s = '%s' redis.register_function('f%d', function() return %d end)", i,
			strings.Repeat("x", compiled.most/20), i, i)
		if got := n.load(text); !strings.HasPrefix(got, "$") {
			t.Fatal(got)
		}
	}
	for i := range 30 {
		if got := n.fcall(fmt.Sprint("F", i), "0"); got != fmt.Sprintf(":%d|", i) {
			t.Errorf("function %d answers %s", i, got)
		}
	}
	kept := 0
	for _, d := range n.e.Documents(engine.Libraries) {
		if l, _ := d.Compiled.Load().(*Library); l != nil {
			kept += len(d.Text)
		}
	}
	if kept > compiled.most || kept < compiled.most/2 {
		t.Errorf("%d bytes of text are kept compiled, want at most %d", kept, compiled.most)
	}
}

func TestLongNames(t *testing.T) {
	n := newNode()
	long := strings.Repeat("n", 300)
	if got := n.load("#!lua name=" + long + "\nredis.register_function('f', function() end)"); !strings.Contains(got,
		"at most 256 bytes") {
		t.Errorf("a library with a name of 300 bytes: %s", got)
	}
	n.load("#!lua name=l\nredis.register_function('" + long + "', function() return 7 end)")
	if got := n.fcall(strings.ToUpper(long), "0"); got != ":7|" {
		t.Errorf("a function with a name of 300 bytes: %s", got)
	}
}

// someLibraries are libraries. Two of them have a function of the same name.
var someLibraries = []string{
	limiterLibrary,
	"#!lua name=draws\nredis.register_function('draw', function(keys) return {math.random(1000), redis.call('TIME'), " +
		"tostring({}), redis.call('SET', keys[1], math.random(9))} end)",
	"#!lua name=draws\nlocal n = 0 redis.register_function('draw', function(keys, args) n = n + 1 return " +
		"redis.call('INCRBY', 'key 3', args[1] + n) end)",
	"#!lua name=other\nredis.register_function('WINDOW', function() end)",
	"#!lua name=wrong\nerror('x')",
	"#!lua name=limits\nredis.register_function('take', function(keys) return redis.call('RL.SLIDE', keys[1] .. 'l', 3, " +
		"1) end)",
}

// someLibraryCall adds a call on libraries or functions to a batch.
func someLibraryCall(r *rand.Rand, b *engine.Batch) {
	c := b.AddCall(uint8(r.IntN(2)))
	switch r.IntN(16) {
	case 0:
		SetFlush(c)
	case 1:
		SetDelete(c, []byte([]string{"draws", "limiter", "nope"}[r.IntN(3)]))
	case 2:
		SetList(c, []byte([]string{"", "l*"}[r.IntN(2)]), r.IntN(2) == 0)
	case 3:
		SetStats(c)
	case 4, 5, 6, 7:
		SetLoad(c, []byte(someLibraries[r.IntN(len(someLibraries))]), r.IntN(2) == 0)
	default:
		modes := []Modes{0, 0, 0, Declared, Only | Looks}[r.IntN(5)]
		args := [][]byte{[]byte("1"), fmt.Append(nil, "key ", r.IntN(6)), []byte("50"), []byte("5")}
		SetFunctionRun(c, modes, Steps(5_000), []byte([]string{"window", "count", "draw", "take"}[r.IntN(4)]), args)
	}
}

// TestLawsOfFunctions compares random calls in batches, by a Replay, and after a snapshot.
func TestLawsOfFunctions(t *testing.T) {
	for seed := range uint64(6 / min(testwait.Slowdown(), 3)) {
		ran := 0
		session := enginetest.Session{
			Options: engine.Options{Seed: [16]byte{1}, Commands: allCalls},
			Start:   start, Pause: 50e6, Steps: 120, Calls: 8, Add: someLibraryCall,
			Answer: func(t *testing.T, c *engine.Call) {
				validAnswer(t, c)
				if v, _, _ := answer.Next(c.Answer); isFunctionRun(c) && v.Kind != answer.Error {
					ran++
				}
			},
		}
		session.Compare(t, seed)
		if ran < 50 {
			t.Errorf("seed %d: %d functions ran", seed, ran)
		}
	}
}

// setMost bounds the memory of compiled texts during a test.
func (k *keeper) setMost(t *testing.T, most int) {
	before := k.most
	k.most = most
	t.Cleanup(func() { k.most = before })
}
