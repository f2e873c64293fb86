package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"limitsrv/testwait"
)

// A crush asks a small shard for keys, one at a time.
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

// take takes one of a new key.
func (c *fullShard) take(p Params) Decision {
	c.number++
	return c.apply(Op{Kind: Take, Params: p, N: 1, Key: fmt.Appendf(nil, "new:%d", c.number)})
}

// refuse asks for new keys until n were refused.
func (c *fullShard) refuse(n int, p Params) {
	for n > 0 {
		if c.take(p).Status == NoMemory {
			n--
		}
	}
}

// TestFullOfLiveKeys refuses keys where there is nothing to be forgotten: that is
// not looked for again and again, but when the first key is at rest.
func TestFullOfLiveKeys(t *testing.T) {
	c := newFullShard(1 << 20)
	s := c.shard()
	fill(c.e, benchParams, 40_000)
	c.refuse(2*s.slab.pages(), benchParams)
	until := c.now.after(spanOf(benchParams.Period))
	if s.noExpiryUntil != until {
		t.Fatalf("nothing is looked for until %d, want %d: that is when the first key is at rest", s.noExpiryUntil, until)
	}
	hand := s.sweepCursor
	c.now = until - 1
	c.refuse(100, benchParams)
	if s.sweepCursor != hand {
		t.Errorf("the hand went from %d to %d of %d pages, all of which had nothing to give", hand, s.sweepCursor, s.slab.pages())
	}
	c.now = until
	for range 1000 {
		if d := c.take(benchParams); d.Status != OK {
			t.Fatalf("a key is refused where all others are at rest: %+v", d)
		}
	}
}

// TestRestIsForeseen does all that there is to keys of all algorithms, under few
// parameters and many, and looks at every key all along: none is at rest before
// its page is said to be looked through, and no page before the shard.
func TestExpiryIsNoted(t *testing.T) {
	testwait.Sequential(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	c := newFullShard(64 << 10)
	some := func(n int) int64 { return 1 + random.Int64N(int64(n)) }
	barren, giveBack := 0, 0
	for step := range 30_000 {
		if step%3000 == 0 {
			giveBack = 1000
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
		if giveBack > 0 { // so many that pages become small
			giveBack--
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
			place := Params{Alg: Lease, Limit: 9, Period: some(3) * 1e10}
			kind := Acquire
			if random.IntN(3) == 0 {
				kind = Release
			}
			c.apply(Op{Kind: kind, Key: fmt.Appendf(nil, "place:%d", some(50)), Params: place, N: 1, ID: fmt.Appendf(nil, "%d", some(3))})
		default:
			c.apply(Op{Kind: Take, Key: key, Params: p, N: some(3)})
		}
		if c.shard().nothingExpires(c.now) {
			barren++
		}
		if step%4 != 0 {
			continue
		}
		if why := c.missedExpiry(); why != "" {
			t.Fatalf("seed %d, step %d: %s", seed, step, why)
		}
	}
	if refused := c.e.Stats().Refused; barren == 0 || refused == 0 {
		t.Errorf("seed %d: it was full %d times, and known to have nothing to give after %d steps: nothing is shown", seed, refused, barren)
	}
}

// unforeseen says which key is at rest before it is foreseen, or nothing.
func (c *fullShard) missedExpiry() string {
	s := c.shard()
	for _, n := range s.dir {
		p := s.slab.page(n)
		for i := range p.slots() {
			cell := s.load(p, i)
			if rests := c.now.after(cell.limiter().until(cell, c.now, 0)); rests < p.nextExpiry && p.nextExpiry > c.now {
				return fmt.Sprintf("a %v is at rest at %d, its page is looked through at %d", cell.params.Alg, rests, p.nextExpiry)
			}
		}
		if p.oversized() && p.slots() > 0 && p.nextExpiry > c.now {
			return fmt.Sprintf("a page of %d bytes uses %d, and is looked through at %d", len(p.buf), p.live(), p.nextExpiry)
		}
		if p.nextExpiry < s.noExpiryUntil && s.nothingExpires(c.now) {
			return fmt.Sprintf("a page may have something at %d, the shard at %d", p.nextExpiry, s.noExpiryUntil)
		}
	}
	return ""
}
