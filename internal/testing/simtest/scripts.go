package simtest

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"

	"limitsrv/commands/scripts"
	"limitsrv/engine"
)

// The scripts that clients run are limiters.
var (
	// admit adds ARGV[1] to a number, unless that would pass ARGV[2], and returns the sum; if
	// it refuses, the number with the sign turned.
	admit = newScript(`
local used = tonumber(redis.call('GET', KEYS[1]) or 0)
if used + ARGV[1] > tonumber(ARGV[2]) then return -used end
return redis.call('INCRBY', KEYS[1], ARGV[1])`)
	// admitAnywhere is admit with a key that is not declared.
	admitAnywhere = newScript(`
local key = ARGV[3]
local used = tonumber(redis.call('GET', key) or 0)
if used + ARGV[1] > tonumber(ARGV[2]) then return -used end
return redis.call('INCRBY', key, ARGV[1])`)
	// admitInWindow admits ARGV[2] times in ARGV[1] microseconds. It returns the time in
	// microseconds, which is its member of the sorted set, with the sign turned if it refuses.
	admitInWindow = newScript(`
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - ARGV[1])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return -now end
redis.call('ZADD', KEYS[1], now, now)
redis.call('SET', KEYS[1] .. ':last', math.random(1000), 'PX', math.ceil(ARGV[1] / 1000))
redis.call('PEXPIRE', KEYS[1], math.ceil(ARGV[1] / 1000))
return now`)
)

// A script is a text with its hash in hexadecimal.
type script struct {
	text, hash []byte
	modes      scripts.Modes
}

func newScript(text string) *script {
	compiled, wrong := scripts.Compile([]byte(text))
	if wrong != "" {
		panic(wrong)
	}
	sum := sha1.Sum([]byte(text))
	return &script{[]byte(text), hex.AppendEncode(nil, sum[:]), compiled.Modes()}
}

// A Run is the run of a limiter.
type Run struct {
	of       *script
	key      string
	n, limit int64
}

const (
	admittedPrefix = "admitted:"
	spacedPrefix   = "spaced:"
	spacedLimit    = 5 // of admitInWindow in spacedMicros
	spacedMicros   = windowMillis * 1000
)

// admit adds a run of a limiter: EVAL, or EVALSHA, which the node may not know.
func (w *Workload) admit(r *Request, rng *rand.Rand) {
	if rng.IntN(100) == 0 {
		r.Ops = append(r.Ops, engine.Op{Kind: engine.Learn, N: 1}) // SCRIPT FLUSH
		return
	}
	known := rng.IntN(2) == 0
	if rng.IntN(4) == 0 {
		key := fmt.Sprint(spacedPrefix, rng.IntN(3))
		r.run(uint8(rng.IntN(2)), known, Run{admitInWindow, key, spacedMicros, spacedLimit}, key)
		return
	}
	slot := &w.admitted[rng.IntN(len(w.admitted))]
	slot.next(w, rng, admittedPrefix)
	run := Run{admit, slot.key, 1 + rng.Int64N(4), slot.limit}
	if rng.IntN(3) > 0 {
		r.run(slot.db, known, run, slot.key)
		return
	}
	run.of = admitAnywhere
	r.run(slot.db, known, run)
}

// run adds a run with declared keys; all scripts take the same arguments.
func (r *Request) run(db uint8, known bool, run Run, keys ...string) {
	modes := run.of.modes
	if known {
		modes |= scripts.Known
	} else {
		r.Ops = append(r.Ops, engine.Op{Kind: engine.Learn, ID: run.of.text})
	}
	if r.Runs == nil {
		r.Runs = map[int]Run{}
	}
	r.Runs[len(r.Ops)] = run
	args := slices.Concat([]string{fmt.Sprint(len(keys))}, keys,
		[]string{fmt.Sprint(run.n), fmt.Sprint(run.limit), run.key})
	r.call(db, func(c *engine.Call) {
		scripts.SetRun(c, modes, scripts.Steps(scripts.DefaultSteps), run.of.hash, words(args))
	})
}
