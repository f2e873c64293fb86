package scripts

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/testing/testwait"
)

const start engine.Instant = 1e18

// allCalls are the calls of scripts, and of the commands that they use.
var allCalls = &spec.Calls{datatypes.Calls{}, datatypes.Works{}, Calls{}}

// A node is an engine that runs scripts.
type node struct {
	e     *engine.Engine
	batch engine.Batch
	now   engine.Instant
}

func newNode() *node {
	return &node{e: engine.New(engine.Options{Shards: 4, Seed: [16]byte{1}, Commands: allCalls}), now: start}
}

// hashOf returns the hash of a script in hexadecimal.
func hashOf(text string) []byte {
	sum := sha1.Sum([]byte(text))
	return hex.AppendEncode(nil, sum[:])
}

// add adds a run to the batch, and a Learn before it. args begins with the number of keys.
func (n *node) add(modes Modes, steps int64, text string, args ...string) {
	n.batch.AddLearn([]byte(text))
	SetRun(n.batch.AddCall(0), modes, Steps(steps), hashOf(text), bytesOf(args))
}

// run runs a script with the modes that follow from it, and returns the answer in RESP2.
func (n *node) run(text string, args ...string) string {
	s, wrong := Compile([]byte(text))
	if wrong != "" {
		return "-" + wrong
	}
	return n.runAs(s.Modes(), DefaultSteps, text, args...)
}

func (n *node) runAs(modes Modes, steps int64, text string, args ...string) string {
	n.batch.Reset()
	n.add(modes, steps, text, args...)
	n.e.Apply(n.now, &n.batch)
	return respOf(&n.batch.Calls[0])
}

func bytesOf(texts []string) [][]byte {
	all := make([][]byte, len(texts))
	for i, text := range texts {
		all[i] = []byte(text)
	}
	return all
}

// usualScripts are scripts of the usual shapes.
var usualScripts = []struct {
	name, text string
	args       []string
}{
	{"fixed window", `
local n = redis.call('INCR', KEYS[1])
if n == 1 then
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return {n <= tonumber(ARGV[2]), n, redis.call('PTTL', KEYS[1])}`, []string{"1", "user:1", "60000", "5"}},
	{"token bucket", `
local rate, burst, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local left = tonumber(redis.call('GET', KEYS[1])) or burst
local last = tonumber(redis.call('GET', KEYS[2])) or 0
local filled = math.min(burst, left + math.max(0, now - last) * rate)
local allowed = filled >= 1
if allowed then filled = filled - 1 end
redis.call('SETEX', KEYS[1], 60, filled)
redis.call('SETEX', KEYS[2], 60, now)
return {allowed, filled}`, []string{"2", "left", "at", "10", "100", "1700000000"}},
	{"GCRA", `
local now = redis.call('TIME')
local at = now[1] * 1000 + math.floor(now[2] / 1000)
local every, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local tat = math.max(at, tonumber(redis.call('GET', KEYS[1])) or at)
if tat - at > every * burst then return {0, tat - at} end
redis.call('SET', KEYS[1], string.format('%.0f', tat + every), 'PX', every * burst)
return {1, math.floor((every * burst - (tat - at)) / every)}`, []string{"1", "g", "1000", "5"}},
	{"status", `return redis.call('SET', KEYS[1], ARGV[1])`, []string{"1", "s", "v"}},
}

// TestRunsAllocateNothing runs each limiter in steady state.
func TestRunsAllocateNothing(t *testing.T) {
	testwait.Sequential(t)
	for _, tt := range usualScripts {
		n := newNode()
		if got := n.run(tt.text, tt.args...); strings.HasPrefix(got, "-") {
			t.Errorf("%s answers %s", tt.name, got)
		}
		steps, hash, args := Steps(DefaultSteps), hashOf(tt.text), bytesOf(tt.args)
		each := func() {
			n.batch.Reset()
			SetRun(n.batch.AddCall(0), Declared, steps, hash, args)
			n.e.Apply(n.now, &n.batch)
		}
		if got := testing.AllocsPerRun(200, each); got > 0 {
			t.Errorf("%s: %v allocations, want 0", tt.name, got)
		}
	}
}

// TestModes checks the modes that follow from a text.
func TestModes(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Modes
	}{
		{"return 1", Declared | Looks},
		{"return redis.call('GET', KEYS[1])", Declared | Looks},
		{"return redis.pcall('get', KEYS[tonumber(ARGV[1])])", Declared | Looks},
		{"return redis.call('SET', KEYS[1], ARGV[1])", Declared},
		{"#!lua flags=no-writes\nreturn redis.call('SET', KEYS[1], ARGV[1])", Declared | Looks},
		{"local k = KEYS[1] return redis.call('INCR', k)", Declared},
		{"local k, n = KEYS[1], 5 return redis.call('INCRBY', k, n)", Declared},
		{"local k = KEYS[1] k = k .. ':x' return redis.call('GET', k)", Looks},
		{"local k = KEYS[1] local function f() return redis.call('GET', k) end return f()", Looks},
		{"return redis.call('GET', KEYS[1] .. ':x')", Looks},
		{"return redis.call('GET', 'x')", Looks},
		{"return redis.call('MGET', KEYS[1], KEYS[2])", Declared | Looks},
		{"return redis.call('MGET', KEYS[1], ARGV[2])", Looks},
		{"return redis.call('MGET', unpack(KEYS))", Looks},
		{"return redis.call('SET', KEYS[1], unpack(ARGV))", Declared},
		{"return redis.call('GET', ...)", Looks},
		{"return redis.call('MSET', KEYS[1], ARGV[1], KEYS[2], ARGV[2])", Declared},
		{"return redis.call('MSET', KEYS[1], ARGV[1], ARGV[2], ARGV[2])", 0},
		{"return #KEYS", Declared | Looks},
		{"KEYS[1] = 'x' return redis.call('GET', KEYS[1])", Looks},
		{"table.insert(KEYS, 'x') return redis.call('GET', KEYS[1])", Looks},
		{"local t = KEYS t[1] = 'x' return redis.call('GET', KEYS[1])", Looks},
		{"local call = redis.call return call('GET', KEYS[1])", 0},
		{"return redis[ARGV[1]]('GET', KEYS[1])", 0},
		{"local r = redis return r.call('GET', KEYS[1])", 0},
		{"return _G.redis.call('GET', KEYS[1])", 0},
		{"return loadstring(ARGV[1])()", 0},
		{"return redis.call(ARGV[1], KEYS[1])", 0},
		{"return pcall(redis.call, 'GET', KEYS[1])", 0},
		{"return redis.call('NOPE', 'x')", Declared | Looks},
		{"return redis.call('RL.TOKEN', KEYS[1], 5, 1)", Declared},
		{"return redis.call('RL.TOKEN', 'x', 5, 1)", 0},
		{"return redis.call('RL.ALL', 'TOKEN', KEYS[1], 5, 1, 1, 'LOG', KEYS[2], 5, 1, 1)", Declared},
		{"return redis.call('RL.ALL', 'TOKEN', KEYS[1], 5, 1, 1, 'LOG', ARGV[2], 5, 1, 1)", 0},
		{"return redis.call('RL.ALL', unpack(ARGV))", 0},
		{"return redis.call('RL.PEEK', KEYS[1])", Declared | Looks},
		{"return redis.call('RL.RESET', KEYS[1], 'x')", 0},
		{"return redis.call('TIME')", Declared | Looks},
		{"return redis.call('PUBLISH', 'c', redis.call('GET', KEYS[1]))", Declared | Ordered},
		{"#!lua flags=no-writes\nreturn redis.call('PUBLISH', 'c', 'm')", Declared | Looks},
		{"return redis.sha1hex(KEYS[1])", Declared | Looks},
		{"for i = 1, 2 do while true do repeat if 1 then return {a = -redis.call('GET', 'x')} end until 1 end end", Looks},
		{"local f = function() for k in pairs({}) do return (redis.call('DEL', k)) end end", 0},
	} {
		s, wrong := Compile([]byte(tt.text))
		if wrong != "" {
			t.Fatalf("%s: %s", tt.text, wrong)
		}
		if got := s.Modes(); got != tt.want {
			t.Errorf("%s: modes %b, want %b", tt.text, got, tt.want)
		}
	}
}

// TestUndeclared runs a script that touches other keys than its modes say, as only a wrong
// node would ask for: that is an error.
func TestUndeclared(t *testing.T) {
	n := newNode()
	for _, text := range []string{"return redis.call('GET', ARGV[1])", "return redis.call('GET', KEYS[1] .. '')"} {
		if got := n.runAs(Declared, DefaultSteps, text, "1", "a", "a"); !strings.HasPrefix(got,
			"-ERR Script attempted to access a key that it has not declared script: ") {
			t.Errorf("%s answers %s", text, got)
		}
	}
	if got := n.runAs(Declared|Looks, DefaultSteps, "return redis.call('SET', KEYS[1], 'x')", "1",
		"a"); !strings.HasPrefix(got, "-ERR Write commands are not allowed from read-only scripts.") {
		t.Errorf("a write in a read-only run answers %s", got)
	}
}

// TestHostile: scripts without bounds end with an error, which pcall does not catch.
func TestHostile(t *testing.T) {
	n := newNode()
	for _, tt := range []struct{ text, want string }{
		{"while true do end", "-ERR script takes more than 1000000 steps"},
		{"pcall(function() while true do end end) return 1", "-ERR script takes more than 1000000 steps"},
		{"while true do redis.call('INCR', 'n') end", "-ERR script takes more than 1000000 steps"},
		{"while true do redis.pcall('NOPE') end", "-ERR script takes more than 1000000 steps"},
		{"local s = 'x' while true do s = s .. s end", "-ERR script takes more than "},
		{"return ('x'):rep(1e9)", "-ERR script takes more than "},
		{"local function f() return 1 + f() end return f()", "-ERR user_script:1: stack overflow"},
		{"return #{unpack({}, 1, 1e8)}", "-ERR user_script:1: too many results to unpack"},
		{"local s = ('x'):rep(1e6) local t = {} for i = 1, 100 do t[i] = s end return t", "-ERR script answers more than"},
		{"local t = {} t[1], t[2] = t, t return t", "-ERR script answers more than"},
		{"local t = {} for i = 1, 50 do t = {t} end return t", "*1|"},
	} {
		if got := n.runAs(0, 1_000_000, tt.text, "0"); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s answers %.100s, want %s...", tt.text, got, tt.want)
		}
	}
	if got := n.run("return #ARGV[1]", "0", strings.Repeat("x", 10)); got != ":10|" {
		t.Errorf("a run after these answers %s", got)
	}
	many := make([]string, 1, 2_000_001)
	many[0] = "0"
	for range cap(many) - 1 {
		many = append(many, "")
	}
	if got := n.run("return #ARGV", many...); !strings.HasPrefix(got,
		"-ERR script takes more than 67108864 bytes of memory") {
		t.Errorf("too many arguments answer %s", got)
	}
}

// TestKeeper compiles more text than is kept.
func TestKeeper(t *testing.T) {
	n := newNode()
	for i := range 30 {
		text := fmt.Sprintf("local s = '%s' return %d", strings.Repeat("x", maxCompiled/20), i)
		if got := n.run(text, "0"); got != ":"+strconv.Itoa(i)+"|" {
			t.Fatalf("script %d answers %s", i, got)
		}
	}
	kept := 0
	compiled.mu.Lock()
	for _, one := range compiled.list {
		if s, _ := one.compiled.Load().(*Script); s != nil {
			kept += one.bytes
		}
	}
	compiled.mu.Unlock()
	if kept > maxCompiled || kept < maxCompiled/2 {
		t.Errorf("%d bytes of text are kept compiled, want at most %d", kept, maxCompiled)
	}
}

// FuzzCheck gives calls to Check; those that pass must be carried out.
func FuzzCheck(f *testing.F) {
	text := "return redis.call('MGET', unpack(KEYS))"
	f.Add(uint16(firstRun), Steps(1000), hashOf(text), []byte("1"), []byte("k"))
	f.Add(uint16(firstRun+7), Steps(1), []byte("x"), []byte("0"), []byte(""))
	f.Add(uint16(exists), []byte("x"), hashOf(text), []byte("1"), []byte("k"))
	f.Add(uint16(name), []byte(""), []byte(""), []byte(""), []byte(""))
	f.Add(uint16(loadLibrary), []byte(limiterLibrary), []byte("x"), []byte(""), []byte(""))
	f.Add(uint16(deleteLibrary), []byte("limiter"), []byte(""), []byte(""), []byte(""))
	f.Add(uint16(flushLibrary), []byte(""), []byte(""), []byte(""), []byte(""))
	f.Add(uint16(listLibraries), []byte("*"), []byte("x"), []byte(""), []byte(""))
	f.Add(uint16(countLibrary), []byte(""), []byte(""), []byte(""), []byte(""))
	f.Add(uint16(firstFunction), Steps(1000), []byte("window"), []byte("1"), []byte("k"))
	f.Add(uint16(firstFunction+7), Steps(1), []byte("x"), []byte("0"), []byte(""))
	f.Fuzz(func(t *testing.T, number uint16, a, b, c, d []byte) {
		n := newNode()
		n.load(limiterLibrary)
		n.batch.Reset()
		n.batch.AddLearn([]byte(text))
		call := n.batch.AddCall(0)
		call.Command = number
		for _, arg := range [][]byte{a, b, c, d} {
			if len(arg) > 0 {
				call.Args = append(call.Args, arg)
			}
		}
		if allCalls.Check(call) != nil {
			return
		}
		n.e.Apply(n.now, &n.batch)
		if !answer.Valid(n.batch.Calls[0].Answer) {
			t.Errorf("the answer is % x", n.batch.Calls[0].Answer)
		}
	})
}
