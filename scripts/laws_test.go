package scripts

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"limitsrv/answer"
	"limitsrv/engine"
	"limitsrv/testwait"
)

// observers are scripts that write, read and choose by chance.
var observers = []string{
	usualScripts[0].text, usualScripts[1].text, usualScripts[2].text,
	"return redis.call('INCRBY', KEYS[1], ARGV[1])",
	"return redis.call('GET', KEYS[1])",
	"return redis.call('MGET', KEYS[1], 'key 1', 'key 2')",
	"redis.call('SET', KEYS[1] .. ARGV[1], math.random(1000)) return redis.call('GET', 'key 11')",
	"return redis.call('DEL', unpack(KEYS))",
	"redis.call('SET', KEYS[1], 'half') error('way')",
	"local n = 0 while true do n = n + 1 redis.pcall('INCR', KEYS[1]) end",
	"return {redis.call('TIME'), math.random(), tostring({}), tostring(redis)}",
	"if redis.call('EXISTS', KEYS[2]) == 1 then return redis.call('RENAME', KEYS[2], KEYS[1]) end return redis.call('PEXPIRE', KEYS[1], 50)",
	"return redis.pcall('RL.TOKEN', KEYS[1], 5, 1, ARGV[1])",
	"return redis.pcall('RL.LOG', KEYS[1] .. ':log', 3, 1)",
	"return {redis.pcall('RL.ACQUIRE', KEYS[1], 2, 1, ARGV[3]), redis.pcall('CL.THROTTLE', KEYS[2], 3, 1, 1, -1)}",
	"return redis.pcall('RL.ALL', 'TOKEN', KEYS[1], 5, 1, ARGV[1], 'SLIDE', KEYS[2], 9, 1, 1)",
	"return redis.pcall('RL.ALL', 'LOG', KEYS[1] .. ':log', 4, 1, ARGV[1], 'FIXED', KEYS[1] .. ':fixed', 3, 1, 1)",
	"return {redis.pcall('RL.PEEK', KEYS[1]), redis.pcall('RL.CHARGE', KEYS[2], 1)}",
}

// someRun adds a run to a batch, with or without its text, as a session would.
func someRun(r *rand.Rand, b *engine.Batch) {
	text := observers[r.IntN(len(observers))]
	s, _ := Compile([]byte(text))
	modes := s.Modes()
	switch r.IntN(4) {
	case 0:
		b.AddLearn([]byte(text))
	case 1:
		modes |= Known
	case 2:
		modes &^= Declared
	}
	key := func() []byte { return fmt.Append(nil, "key ", r.IntN(12)) }
	args := [][]byte{[]byte("2"), key(), key(), fmt.Append(nil, r.IntN(3)), []byte("5"), fmt.Append(nil, r.IntN(1000))}
	SetRun(b.AddCall(uint8(r.IntN(2))), modes, Steps(5_000), hashOf(text), args)
	if r.IntN(50) == 0 {
		b.AddFlush()
	}
}

// TestLaws carries out random runs on engines of different shards: in batches, by a Replay,
// and again from a snapshot. All must agree.
func TestLaws(t *testing.T) {
	for seed := range uint64(4 / testwait.Slowdown()) {
		r := rand.New(rand.NewPCG(seed, 7))
		o := engine.Options{Shards: 1 << (seed % 5), Seed: [16]byte{1}, Commands: Commands{}}
		e := engine.New(o)
		o.Shards = 4
		replica, loaded := engine.New(o), engine.New(o)
		replay := replica.NewReplay(func(n int, each func(int)) {
			for i := range n {
				each(i)
			}
		})
		now := start
		for step := range 100 {
			now += engine.Instant(r.Int64N(50e6))
			var b, again engine.Batch
			b.Atomic = r.IntN(3) == 0
			for range 1 + r.IntN(8) {
				someRun(r, &b)
			}
			again.Atomic = b.Atomic
			again.Join(&b)
			e.Apply(now, &b)
			replay.Apply(now, &again)
			var answers [][]byte
			for i := range b.Calls {
				answers = append(answers, bytes.Clone(b.Calls[i].Answer))
				if !answer.Valid(b.Calls[i].Answer) {
					t.Fatalf("seed %d: %q answers invalid bytes % x", seed, b.Calls[i].Args, b.Calls[i].Answer)
				}
			}
			if step == 50 {
				replay.Finish()
				load(t, loaded, e)
			} else if step > 50 {
				var third engine.Batch
				third.Atomic = b.Atomic
				third.Join(&b)
				loaded.Apply(now, &third)
				for i := range third.Calls {
					if !bytes.Equal(third.Calls[i].Answer, answers[i]) {
						t.Fatalf("seed %d: %q answers %q from a snapshot, %q before", seed, b.Calls[i].Args, third.Calls[i].Answer, answers[i])
					}
				}
			}
		}
		replay.Finish()
		want := e.Digest(now)
		if got := replica.Digest(now); got != want {
			t.Errorf("seed %d: digest %x of the replay, want %x", seed, got, want)
		}
		if got := loaded.Digest(now); got != want {
			t.Errorf("seed %d: digest %x from the snapshot, want %x", seed, got, want)
		}
	}
}

// load loads a snapshot of an engine into another.
func load(t *testing.T, to, from *engine.Engine) {
	t.Helper()
	n := from.Freeze()
	defer n.Close()
	for shard := range n.Shards() {
		for {
			block, _, ok := n.Next(shard, nil)
			if !ok {
				break
			}
			if err := to.Load(block); err != nil {
				t.Fatal(err)
			}
		}
	}
	to.SetTime(n.Now())
}
