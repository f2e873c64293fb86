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
