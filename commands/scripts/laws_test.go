package scripts

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/enginetest"
	"limitsrv/internal/testing/testwait"
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
	"if redis.call('EXISTS', KEYS[2]) == 1 then return redis.call('RENAME', KEYS[2], KEYS[1]) end return " +
		"redis.call('PEXPIRE', KEYS[1], 50)",
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

// TestLaws compares random runs in batches, by a Replay, and after a snapshot.
func TestLaws(t *testing.T) {
	for seed := range uint64(4 / testwait.Slowdown()) {
		session := enginetest.Session{
			Options: engine.Options{Seed: [16]byte{1}, Commands: allCalls},
			Start:   start, Pause: 50e6, Steps: 100, Calls: 8, Add: someRun, Answer: validAnswer,
		}
		session.Compare(t, seed)
	}
}

func validAnswer(t *testing.T, c *engine.Call) {
	t.Helper()
	if !answer.Valid(c.Answer) {
		t.Fatalf("%q answers invalid bytes % x", c.Args, c.Answer)
	}
}
