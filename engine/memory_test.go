package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// A fullShard requests keys of a small shard, one at a time.
type fullShard struct {
	e      *Engine
	now    Instant
	number int // of the next new key
}

func newFullShard(bound int64) *fullShard {
	return &fullShard{e: New(Options{Shards: 1, MaxMemory: bound}), now: 1e18}
}

func (c *fullShard) shard() *shard { return &c.e.shards[0] }

func (c *fullShard) apply(op Op) Decision {
	b := &Batch{Ops: []Op{op}}
	c.e.Apply(c.now, b)
	return b.Decisions[0]
}

// take takes a permit of a new key.
func (c *fullShard) take(p Params) Decision {
	c.number++
	return c.apply(Op{Kind: Take, Params: p, N: 1, Key: fmt.Appendf(nil, "new:%d", c.number)})
}

// reject requests new keys until n were rejected.
func (c *fullShard) reject(n int, p Params) {
	for n > 0 {
		if c.take(p).Status == NoMemory {
			n--
		}
	}
}

// TestFullOfLiveKeys rejects keys while no key can be forgotten: the sweep stops, and
// continues when the first key expires.
func TestFullOfLiveKeys(t *testing.T) {
	c := newFullShard(1 << 20)
	s := c.shard()
	fill(c.e, benchParams, 40_000)
	c.reject(2*s.slab.pages(), benchParams)
	until := c.now.after(spanOf(benchParams.Period))
	if s.noExpiryUntil != until {
		t.Fatalf("no sweep until %d, want %d, the first expiry", s.noExpiryUntil, until)
	}
	cursor := s.sweepCursor
	c.now = until - 1
	c.reject(100, benchParams)
	if s.sweepCursor != cursor {
		t.Errorf("the sweep moved from %d to %d of %d pages, but no key had expired", cursor, s.sweepCursor, s.slab.pages())
	}
	c.now = until
	for range 1000 {
		if d := c.take(benchParams); d.Status != OK {
			t.Fatalf("a key is rejected although all others have expired: %+v", d)
		}
	}
}

// TestSweepRests: after a round of the sweep, sweeps visit no keys until they can remove one, and then
// remove it, also if it was added while they rested.
func TestSweepRests(t *testing.T) {
	fast := Params{Alg: Token, Limit: 10, Count: 10, Period: 1e9}
	slow := Params{Alg: Token, Limit: 10, Count: 1, Period: 1e12}
	for _, tt := range []struct {
		name        string
		params      Params
		again, stay Instant // when the key is asked again, and how long its record stays after that
	}{
		{"a limit that resets", fast, 0, 1e8 + reuseTime},
		{"a limit that was asked again", fast, 5e9, 1e8 + reuseTime},
		{"a limit far from its reset", slow, 0, 1e12 + reuseTime},
		{"a record with a tail", Params{Alg: Log, Limit: 10, Period: 3e9}, 0, 3e9},
		{"a tail that was asked again", Params{Alg: Log, Limit: 10, Period: 3e9}, 2e9, 3e9},
	} {
		c := newFullShard(0)
		ask := func() { c.apply(Op{Kind: Take, Params: tt.params, N: 1, Key: []byte("k")}) }
		c.apply(Op{Kind: Take, Params: Params{Alg: Token, Limit: 1, Count: 1, Period: 1e16}, N: 1, Key: []byte("stays")})
		c.e.Sweep(c.now, 4)
		ask()
		start := c.now
		for step := Instant(5e8); c.now < start+tt.again; c.now += step {
			c.e.Sweep(c.now, 2)
		}
		if tt.again > 0 {
			ask()
		}
		end := c.now + tt.stay
		c.e.Sweep(c.now, 4) // a round, and one with a bound
		c.e.Sweep(end-1, 4)
		if s := c.shard(); s.keys != 2 || !s.reuse.rests(end-1, end-1-reuseTime) {
			t.Errorf("%s: %d keys, and the sweep rests until %d, want 2 and %d", tt.name, s.keys, s.reuse.until, end)
		}
		if c.e.Sweep(end, 4); c.e.Len() != 1 {
			t.Errorf("%s: it is left after %d, the sweep rests until %d", tt.name, end, c.shard().reuse.until)
		}
	}
}

// TestExpiryIsNoted applies all kinds of ops to keys of all algorithms, under few
// parameters and many, and checks every key continuously: no key expires before its page's
// next expiry, and no page before the shard's.
func TestExpiryIsNoted(t *testing.T) {
	testwait.Sequential(t)
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	c := newFullShard(64 << 10)
	some := func(n int) int64 { return 1 + random.Int64N(int64(n)) }
	nothing, refunds := 0, 0
	for step := range 30_000 {
		if step%3000 == 0 {
			refunds = 1000
		}
		switch random.IntN(20) {
		case 0:
			c.now += Instant(some(3e10))
		case 1, 2:
			c.now += Instant(some(1e6))
		}
		key := fmt.Appendf(nil, "key:%d", some(2000))
		p := Params{Alg: Alg(random.IntN(int(Lease))), Limit: some(20), Count: 1, Period: some(4) * 1e11}
		do := random.IntN(12)
		if refunds > 0 { // enough that pages become small
			refunds--
			do = 0
		}
		switch do {
		case 0:
			c.apply(Op{Kind: Refund, Key: key, N: some(20)})
		case 1:
			c.apply(Op{Kind: Charge, Key: key, N: some(20)})
		case 2:
			c.apply(Op{Kind: Forget, Key: key})
		case 3, 4:
			lease := Params{Alg: Lease, Limit: 9, Period: some(3) * 1e10}
			kind := Acquire
			if random.IntN(3) == 0 {
				kind = Release
			}
			c.apply(Op{Kind: kind, Key: fmt.Appendf(nil, "lease:%d", some(50)), Params: lease, N: 1,
				ID: fmt.Appendf(nil, "%d", some(3))})
		default:
			c.apply(Op{Kind: Take, Key: key, Params: p, N: some(3)})
		}
		if c.shard().nothingExpires(c.now) {
			nothing++
		}
		if step%4 != 0 {
			continue
		}
		if problem := c.missedExpiry(); problem != "" {
			t.Fatalf("seed %d, step %d: %s", seed, step, problem)
		}
	}
	if refused := c.e.Stats().Refused; nothing == 0 || refused == 0 {
		t.Errorf("seed %d: %d keys were rejected, and nothingExpires held after %d steps, want both above 0", seed, refused,
			nothing)
	}
}

// missedExpiry describes a key that expires before the next expiry of its page, or "".
func (c *fullShard) missedExpiry() string {
	s := c.shard()
	for p := range s.pages() {
		for i := range p.slots() {
			cell := s.load(p, i)
			if expiry := c.now.after(cell.meter().until(cell, c.now, 0)); expiry < p.nextExpiry && p.nextExpiry > c.now {
				return fmt.Sprintf("a %v expires at %d, its page at %d", cell.params.Alg, expiry, p.nextExpiry)
			}
		}
		if p.oversized() && p.slots() > 0 && p.nextExpiry > c.now {
			return fmt.Sprintf("a page of %d bytes uses %d, and expires at %d", len(p.buf), p.live(), p.nextExpiry)
		}
		if p.nextExpiry < s.noExpiryUntil && s.nothingExpires(c.now) {
			return fmt.Sprintf("a page expires at %d, the shard at %d", p.nextExpiry, s.noExpiryUntil)
		}
	}
	return ""
}
