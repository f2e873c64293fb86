package scripts

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// drawn is the collection of a command that draws, by the command's name.
var drawn = map[string]string{"SPOP": "set", "SRANDMEMBER": "set", "HRANDFIELD": "hash", "ZRANDMEMBER": "zset"}

const drawLibrary = `#!lua name=draws
redis.register_function('draw', function(keys) redis.call('SET', keys[1], 1) return tostring(math.random()) end)
redis.register_function{function_name='look', callback=function() return tostring(math.random()) end, flags={'no-writes'}}`

// drawers returns calls that draw random numbers, by a description.
func drawers(t *testing.T) map[string]func(*engine.Batch) {
	all := map[string]func(*engine.Batch){}
	script := func(text string, args ...string) {
		s, wrong := Compile([]byte(text))
		if wrong != "" {
			t.Fatal(wrong)
		}
		all[text] = func(b *engine.Batch) {
			SetRun(b.AddCall(0), s.Modes(), Steps(DefaultSteps), hashOf(text), bytesOf(args))
		}
	}
	script("return tostring(math.random())", "0")
	script("redis.call('INCR', KEYS[1]) return tostring(math.random())", "1", "n")
	script("redis.call('INCR', 'any') return tostring(math.random())", "0")
	script("local t = redis.call('TIME') return t[1] .. '.' .. t[2]", "0")
	script("redis.call('INCR', KEYS[1]) local t = redis.call('TIME') return t[1] .. '.' .. t[2]", "1", "n")
	for name, modes := range map[string]Modes{"draw": Declared, "look": Declared | Looks} {
		all["function "+name] = func(b *engine.Batch) {
			SetFunctionRun(b.AddCall(0), modes, Steps(DefaultSteps), []byte(name), bytesOf([]string{"1", "f"}))
		}
	}
	for i := range datatypes.All() {
		c := &datatypes.All()[i]
		if c.Flags&spec.Draws == 0 {
			continue
		}
		key := drawn[c.Name]
		if key == "" {
			t.Errorf("%s draws, but has no collection in this test", c.Name)
		}
		all[c.Name] = func(b *engine.Batch) { c.SetCall(b.AddCall(0), bytesOf([]string{key})) }
		script("return redis.call('"+c.Name+"', KEYS[1])", "1", key)
	}
	return all
}

// newDrawn returns a node with collections, the scripts of drawers and the library.
func newDrawn(t *testing.T, all map[string]func(*engine.Batch)) *node {
	n := newNode()
	for _, text := range slices.Sorted(maps.Keys(all)) {
		if strings.Contains(text, "return") {
			n.batch.AddLearn([]byte(text))
		}
	}
	SetLoad(n.batch.AddCall(0), []byte(drawLibrary), false)
	n.e.Apply(n.now, &n.batch)
	got := n.run(`for i = 1, 200 do
		redis.call('SADD', 'set', 'member ' .. i) redis.call('HSET', 'hash', 'field ' .. i, i) redis.call('ZADD', 'zset', i, 'member ' .. i)
	end`, "0")
	if got != "$-1|" {
		t.Fatalf("the collections were not made: %s", got)
	}
	return n
}

// TestDrawsDiffer applies each call that draws 50 times in a batch: no two runs of scripts draw the same, and
// half of the calls draw another element than all other calls. A Replay, a Look and a transaction do the
// same. At level 1 calls of a batch draw the same.
func TestDrawsDiffer(t *testing.T) {
	const calls = 50
	all := drawers(t)
	for name, add := range all {
		for _, level := range []uint8{0, 2, 1} {
			n, twin := newDrawn(t, all), newDrawn(t, all)
			n.batch.Reset()
			for range calls {
				add(&n.batch)
			}
			n.batch.Level, n.batch.Atomic = level, level == 2
			looks := n.batch.Looks()
			if looks && level == 0 {
				n.e.Look(n.now, &n.batch)
			} else {
				n.e.SetMoments(n.now, &n.batch)
				n.e.Apply(n.now, &n.batch)
			}
			seen := map[string]bool{}
			for i := range n.batch.Calls {
				seen[string(n.batch.Calls[i].Answer)] = true
			}
			least, most := calls/2, calls
			if strings.Contains(name, "random()") || strings.Contains(name, "TIME") || strings.HasPrefix(name, "function") {
				least = calls
			}
			if level == 1 && looks {
				least, most = 1, 1
			} else if level == 1 {
				least = 1
			}
			if len(seen) < least || len(seen) > most {
				t.Errorf("%s at level %d: %d different answers of %d, want %d to %d", name, level, len(seen), calls, least, most)
			}
			if !looks {
				replayed(t, twin, &n.batch)
				if got, want := twin.e.Digest(n.now), n.e.Digest(n.now); got != want {
					t.Errorf("%s at level %d: a replay has the digest %x, want %x", name, level, got, want)
				}
			}
		}
	}
}

// replayed applies a batch to another node by a Replay, with no more than a log has.
func replayed(t *testing.T, n *node, b *engine.Batch) {
	logged := engine.Batch{Ops: b.Ops, Level: max(b.Level, 1), Atomic: b.Atomic}
	if b.Level == 0 {
		logged.Level = allCalls.Level()
	}
	for i := range b.Calls {
		c := engine.Call{Command: b.Calls[i].Command, Micros: b.Calls[i].Micros, Args: b.Calls[i].Args}
		if err := n.e.Commands().Check(&c); err != nil {
			t.Fatal(err)
		}
		logged.Calls = append(logged.Calls, c)
	}
	r := n.e.NewReplay(func(n int, each func(int)) {
		for i := range n {
			each(i)
		}
	})
	r.Apply(n.now, &logged)
	r.Finish()
}

// TestSlidingLogByChance runs a sliding log of at most 10, with random numbers as members, 50 times
// at once, in batches of several sizes.
func TestSlidingLogByChance(t *testing.T) {
	const text = `local now = tonumber(ARGV[1]) redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - 60000)
if redis.call('ZCARD', KEYS[1]) >= 10 then return 0 end
redis.call('ZADD', KEYS[1], now, now .. ':' .. math.random()) return 1`
	for _, size := range []int{1, 7, 50} {
		n, allowed := newNode(), 0
		for from := 0; from < 50; from += size {
			n.batch.Reset()
			for range min(size, 50-from) {
				n.add(Declared, DefaultSteps, text, "1", "log", "1000000")
			}
			n.e.SetMoments(n.now, &n.batch)
			n.e.Apply(n.now, &n.batch)
			for i := range n.batch.Calls {
				if respOf(&n.batch.Calls[i]) == ":1|" {
					allowed++
				}
			}
		}
		if allowed != 10 {
			t.Errorf("in batches of %d: %d of 50 are allowed, want 10", size, allowed)
		}
	}
}
