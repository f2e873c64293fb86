package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"limitsrv/engine/siphash"
	"limitsrv/internal/testing/testwait"
)

// aCall are Commands with a single call: do, with the keys that are its arguments.
type aCall struct{ do func(tx *Tx) }

func (*aCall) Check(*Call) error { return nil }
func (*aCall) Level() uint8      { return 1 }
func (x *aCall) Do(tx *Tx, _ *Call) {
	x.do(tx)
}
func (*aCall) Keys(c *Call, dst []int) (keys []int, _ bool) { return append(dst, 0), false }

// A heldShard is a fullShard with calls.
type heldShard struct {
	*fullShard
	*aCall
}

func newHeldShard(bound int64) heldShard {
	commands := new(aCall)
	return heldShard{&fullShard{e: New(Options{Shards: 1, MaxMemory: bound, Commands: commands}), now: 1e18}, commands}
}

// call applies a call with a key.
func (s heldShard) call(key string, do func(tx *Tx)) {
	s.do = do
	var b Batch
	c := b.AddCall(0)
	c.Args = append(c.Args, []byte(key))
	s.e.Apply(s.now, &b)
}

// reserve takes n permits, and holds them if they were taken.
func (s heldShard) reserve(key string, p Params, h Hold) (held bool) {
	s.call(key, func(tx *Tx) {
		b := Batch{Ops: []Op{{Params: p, N: h.N, Key: []byte(key)}}}
		if tx.Decide(&b); b.Decisions[0].Allowed == 1 && tx.MayHold([]byte(key)) {
			h.Stamp, held = tx.Now(), true
			tx.Hold([]byte(key), h)
		}
	})
	return held
}

func (s heldShard) peek(key string) Decision { return s.apply(Op{Kind: Peek, Key: []byte(key)}) }

var heldParams = []Params{
	{Alg: Token, Limit: 1 << 20, Count: 1, Period: 1e10},
	{Alg: Leaky, Limit: 1 << 20, Count: 7, Period: 3e10},
	{Alg: Fixed, Limit: 1 << 19, Period: 1e15},
	{Alg: Slide, Limit: 1 << 19, Period: 1e15},
	{Alg: Log, Limit: 1 << 19, Period: 1e15},
}

// TestHoldsAreSettledInOnePass: all holds that have ended are settled by one visit of each, and the
// key is then as if they had been settled one by one, in any order.
func TestHoldsAreSettledInOnePass(t *testing.T) {
	rng := rand.New(rand.NewPCG(testwait.Seed(t), 0))
	for _, p := range heldParams {
		if p.Count > 0 {
			p.Period /= 10
		}
		for run := range 20 {
			s := newHeldShard(0)
			for i := range 40 {
				if s.now += Instant(rng.Int64N(2e9)); rng.IntN(8) == 0 { // the bucket earns much of it
					s.now += 10e9
				}
				n := 1 + rng.Int64N(20)
				s.reserve("k", p, Hold{ID: uint64(i), N: n, Keep: rng.Int64N(n), End: s.now + 150e9 + Instant(rng.Int64N(100e9))})
				s.apply(Op{Params: p, N: 1, Key: []byte("k")})
			}
			s.apply(Op{Params: p, N: 1000, Key: []byte("k")}) // it is in use until the look
			s.now += 180e9
			shard := s.shard()
			pl, _ := shard.findLive(s.now, []byte("k"), shard.hash(0, []byte("k")))
			looked := shard.cell.meter().used(&shard.cell, s.now)
			pass, single := copyOfHeld(t, &shard.cell, s.now), copyOfHeld(t, &shard.cell, s.now)

			visits, ended, all := 0, 0, pass.holds.len() // the bucket may have been full meanwhile
			pass.giveBackHolds(s.now, 0, all, func(h *hold) int64 {
				visits++
				return endedAmount(s.now)(h)
			})
			pass.holds.drop(func(h *hold) bool { return h.end <= s.now })
			for _, i := range rng.Perm(40) {
				one := single.holds.find(uint64(i), s.heldAt(uint64(i)))
				if one < 0 {
					continue
				}
				if h := single.holds.items()[one]; h.end <= s.now {
					single.settleHold(s.now, one, h.keep)
					ended++
				}
			}
			pass, single = pass.settled(s.now), single.settled(s.now)
			got, want := holding{}.write(nil, pass, s.now), holding{}.write(nil, single, s.now)
			if p.Alg == Log { // its changes are counted
				got, want = got[1:], want[1:]
			}
			switch used := pass.meter().used(pass, s.now); {
			case pl.missing() || ended == 0 || visits != all:
				t.Fatalf("%v, run %d: %d of %d holds have ended, and %d were visited", p.Alg, run, ended, all, visits)
			case used != looked:
				t.Fatalf("%v, run %d: %d permits are in use, a look saw %d", p.Alg, run, used, looked)
			case !slices.Equal(got, want):
				t.Fatalf("%v, run %d: one pass leads to\n%x, settling one by one to\n%x", p.Alg, run, got, want)
			}
		}
	}
}

// copyOfHeld returns a copy of a cell that shares nothing with it. No hold is settled.
func copyOfHeld(t *testing.T, c *cell, now Instant) *cell {
	x := cell{params: c.params, past: c.past, chunks: new(chunks), leases: new(leases)}
	if _, ok := (holding{}).read(holding{}.write(nil, c, now), now, &x); !ok {
		t.Fatalf("%v can not be read", c.params.Alg)
	}
	return &x
}

// heldAt returns the stamp of a hold of "k".
func (s heldShard) heldAt(id uint64) Instant {
	for _, h := range s.shard().holds.lists[1].items() {
		if h.id == id {
			return h.stamp
		}
	}
	return -1
}

// TestHoldsOfAChangedKey: a key gets new holds after its rate or window has changed. They give back
// exactly. The permits of the holds before stay taken.
func TestHoldsOfAChangedKey(t *testing.T) {
	for _, p := range heldParams {
		s, slower := newHeldShard(0), p
		s.reserve("k", p, Hold{ID: 1, N: 5, End: s.now + 1e12})
		if slower.Limit -= 3; p.Count > 0 {
			slower.Count, slower.Period = 3, 7e9+1
		} else {
			slower.Period = p.Period / 3
		}
		s.apply(Op{Params: slower, N: 2, Key: []byte("k")})
		taken := s.now
		held := s.peek("k")
		if !s.reserve("k", slower, Hold{ID: 2, N: 4, Keep: 0, End: s.now + 1e12}) {
			t.Fatalf("%v: no hold", p.Alg)
		}
		if n := s.shard().holds.lists[1].len(); n != 1 {
			t.Errorf("%v: the key has %d holds, want the new hold", p.Alg, n)
		}
		found := 0
		s.call("k", func(tx *Tx) {
			found, _ = tx.Settle([]byte("k"), Hold{ID: 1, Stamp: taken}, Hold{ID: 2, Stamp: taken, Keep: 0})
		})
		got := s.peek("k")
		round := got.Reset.nanos() - held.Reset.nanos()
		if found != 1 || got.Remaining != held.Remaining || round < 0 || round > 1 {
			t.Errorf("%v: %d found, and there is %+v, want 1 and %+v", p.Alg, found, got, held)
		}
	}
}

// TestMarksFollowTheBucket: a refund lowers all marks by the time that it gives back, and a mark stays
// the same time if a take changes the unit of a bucket with a past.
func TestMarksFollowTheBucket(t *testing.T) {
	p, key := heldParams[0], []byte("k")
	s := newHeldShard(0)
	h := Hold{ID: 1, Stamp: s.now, N: 10, End: s.now + 1e12}
	s.reserve("k", p, h)
	s.apply(Op{Params: p, N: 5, Key: key})
	s.apply(Op{Kind: Refund, N: 8, Key: key})
	h.Keep = 0
	s.call("k", func(tx *Tx) { tx.Settle(key, h) })
	if used := p.Limit - s.peek("k").Remaining; used != 5 {
		t.Errorf("after a refund of 8 of 15, a hold of 10 leaves %d, want 5", used)
	}

	// These numbers of permits have no common unit that fits, so the second take refines the unit.
	p = Params{Alg: Token, Limit: MaxLimit, Count: 999_999_999_989, Period: 86_400e9}
	s = newHeldShard(0)
	s.apply(Op{Params: p, N: 10, Key: key})
	p.Count = 999_999_999_961
	h.N, h.End = p.Count, s.now+1e12
	s.reserve("k", p, h)
	unit := s.unit()
	s.apply(Op{Params: p, N: 1, Key: key})
	if s.unit() == unit {
		t.Errorf("the unit stays %d", unit)
	}
	s.call("k", func(tx *Tx) { tx.Settle(key, h) })
	if used := p.Limit - s.peek("k").Remaining; used < 11 || used > 12 {
		t.Errorf("in another unit %d permits stay, want 11", used)
	}
}

// unit returns the unit of the bucket "k".
func (s heldShard) unit() uint64 {
	shard := s.shard()
	shard.findLive(s.now, []byte("k"), shard.hash(0, []byte("k")))
	return pastBucket{}.unit(&shard.cell)
}

// TestHoldExpiryIsNoted: neither a key nor one of its holds expires before the next expiry of its page.
func TestHoldExpiryIsNoted(t *testing.T) {
	rng := rand.New(rand.NewPCG(testwait.Seed(t), 0))
	s := newHeldShard(0)
	for step := range 3000 {
		if rng.IntN(3) == 0 {
			s.now += Instant(rng.Int64N(5e9))
		}
		p := heldParams[rng.IntN(len(heldParams))]
		p.Limit, p.Period = 20, 1+rng.Int64N(4)*10e9
		if p.Count > 0 {
			p.Count = 1
		}
		key, id := fmt.Sprint(p.Alg, rng.IntN(9)), uint64(rng.IntN(6))
		switch rng.IntN(6) {
		case 0, 1:
			n := 1 + rng.Int64N(5)
			s.reserve(key, p, Hold{ID: id, N: n, Keep: rng.Int64N(2), End: s.now + 1 + Instant(rng.Int64N(30e9))})
		case 2:
			s.call(key, func(tx *Tx) { tx.Reach([]byte(key), Hold{ID: id, Stamp: s.now, End: s.now + 1}) })
		case 3:
			s.e.Sweep(s.now, 1)
		case 4:
			s.call(key, func(tx *Tx) { tx.Settle([]byte(key), Hold{ID: id, Stamp: s.now}) })
		default:
			s.apply(Op{Params: p, N: 1 + rng.Int64N(3), Key: []byte(key)})
		}
		problem := s.missedExpiry()
		for page := range s.shard().pages() {
			for i := range page.slots() {
				if c := s.shard().load(page, i); c.past.held != 0 && c.holds.least < page.nextExpiry {
					problem = fmt.Sprintf("a hold of a %v ends at %d, its page expires at %d", c.params.Alg, c.holds.least,
						page.nextExpiry)
				}
			}
		}
		if problem != "" {
			t.Fatalf("step %d: %s", step, problem)
		}
	}
}

// TestHoldIsSettledAsAtItsEnd: a hold that ended in a window of FIXED with a debt lowers the debt, also if
// it is settled in the next window, where the debt would count.
func TestHoldIsSettledAsAtItsEnd(t *testing.T) {
	p, key := Params{Alg: Fixed, Limit: 4, Period: 10e9}, []byte("k")
	var remaining [2]int64
	for i := range remaining {
		s := newHeldShard(0)
		s.reserve("k", p, Hold{ID: 1, N: 2, End: s.now + 2e9})
		s.apply(Op{Kind: Charge, N: 5, Key: key})
		if i == 0 {
			s.now += 3e9
			s.e.Sweep(s.now, 1)
		}
		s.now = 1e18 + 11e9
		remaining[i] = s.apply(Op{Params: p, N: 1, Key: key}).Remaining
	}
	if remaining != [2]int64{2, 2} {
		t.Errorf("%d permits are left if the hold is settled at its end, and %d if in the next window, want 2", remaining[0],
			remaining[1])
	}
}

// TestSweepSettlesHolds: a sweep settles the holds that have ended, and sweeps the page for them once.
func TestSweepSettlesHolds(t *testing.T) {
	for _, p := range heldParams {
		s := newHeldShard(0)
		s.reserve("k", p, Hold{ID: 1, N: 50, Keep: 40, End: s.now + 1e9})
		s.reserve("k", p, Hold{ID: 2, N: 5, End: s.now + 1e10})
		s.now += 2e9
		digest := s.e.Digest(s.now)
		s.e.Sweep(s.now, 1)
		if open := s.e.Stats().Holds.Open; open != 1 || s.e.Digest(s.now) != digest {
			t.Errorf("%v: after a sweep %d holds are open, and the digest is %x, want 1 and %x", p.Alg, open, s.e.Digest(s.now),
				digest)
		}
		for page := range s.shard().pages() {
			if page.nextExpiry <= s.now {
				t.Errorf("%v: the page is swept again", p.Alg)
			}
		}
	}
}

// TestHoldMemory: the memory of lists of holds is counted, and released with the last list.
func TestHoldMemory(t *testing.T) {
	if got, want := unsafe.Sizeof(hold{}), uintptr(holdBytes); got != want {
		t.Errorf("a hold has %d bytes, want %d", got, want)
	}
	if got, want := unsafe.Sizeof(keptList{}), uintptr(keptListBytes); got != want {
		t.Errorf("a list has %d bytes, want %d", got, want)
	}
	// A map has an entry in at least 7 of 16 slots when it has just grown.
	entry := unsafe.Sizeof(paramEntry{}) + (unsafe.Sizeof(paramKey{})+8)*3/2
	if entry > paramEntryBytes {
		t.Errorf("parameters have %d bytes, want at most %d", entry, paramEntryBytes)
	}
	rng := rand.New(rand.NewPCG(testwait.Seed(t), 0))
	s := newHeldShard(0)
	for i := range 600 {
		s.now += Instant(rng.Int64N(1e8))
		p := heldParams[rng.IntN(len(heldParams))]
		s.reserve(fmt.Sprint(p.Alg, rng.IntN(40)), p, Hold{ID: uint64(i), N: 1, End: s.now + 1 + Instant(rng.Int64N(30e9))})
	}
	var want int64
	m := &s.shard().holds
	for i := range m.lists {
		want += int64(cap(m.lists[i].all)) * int64(unsafe.Sizeof(hold{}))
		want += int64(cap(m.lists[i].steps)) * int64(unsafe.Sizeof(markStep{}))
	}
	want += int64(cap(m.lists))*int64(unsafe.Sizeof(keptList{})) + int64(cap(m.free))*4
	if got := m.bytes(); got != want || got > s.e.MemoryBytes() {
		t.Errorf("%d bytes of holds are counted, want %d", got, want)
	}
	s.now = latest
	for range 512 {
		s.e.Sweep(s.now, 1)
	}
	if got := m.bytes(); got != 0 || m.stats.Open != 0 {
		t.Errorf("%d bytes and %d holds are left", got, m.stats.Open)
	}
}

// TestTakeBesideHoldsAllocatesNothing: of all algorithms, also after the rate of a bucket has changed.
func TestTakeBesideHoldsAllocatesNothing(t *testing.T) {
	for _, p := range heldParams {
		for _, changed := range []bool{false, true} {
			s := newHeldShard(0)
			if changed && p.Count > 0 {
				s.apply(Op{Params: p, N: 2, Key: []byte("k")})
				p.Period += 2
			}
			for i := range uint64(4) {
				s.reserve("k", p, Hold{ID: i, N: 5, End: s.now + 1e12})
			}
			b := Batch{Ops: []Op{{Params: p, N: 1, Key: []byte("k")}}}
			if n := testing.AllocsPerRun(100, func() {
				s.now++
				s.e.Apply(s.now, &b)
			}); n >= 1 {
				t.Errorf("%v, changed: %t: %v allocations", p.Alg, changed, n)
			}
		}
	}
}

// TestHoldIDs: the hash of an id has a key of its own, which follows from the seed.
func TestHoldIDs(t *testing.T) {
	s, other := newHeldShard(0), newHeldShard(0)
	var got, again uint64
	s.call("k", func(tx *Tx) { got = tx.HoldID(tx.HashID([]byte("id")), 0) })
	other.call("k", func(tx *Tx) { again = tx.HoldID(tx.HashID([]byte("id")), 0) })
	if got != again {
		t.Error("two engines with a seed hash an id differently")
	}
	x := &s.e.secrets
	for name, k := range map[string]siphash.Key{"keys": x.table, "state": x.state, "random": x.random} {
		if got == sumIn(k, 0, []byte("id")) {
			t.Errorf("an id is hashed as %s", name)
		}
	}
}

// TestHoldWork: a call that walks over the holds of a key pays for it.
func TestHoldWork(t *testing.T) {
	s := newHeldShard(0)
	const n = 1000
	for i := range uint64(n) {
		s.reserve("k", heldParams[2], Hold{ID: i, N: 1, End: s.now + 1e12})
	}
	key := []byte("k")
	for name, do := range map[string]func(tx *Tx){
		"settle": func(tx *Tx) { tx.Settle(key, Hold{ID: 3, Stamp: s.now}) },
		"reach":  func(tx *Tx) { tx.Reach(key, Hold{ID: 4, Stamp: s.now, End: s.now + 2e12}) },
		"hold":   func(tx *Tx) { tx.Hold(key, Hold{ID: n, Stamp: s.now, N: 1, End: s.now + 1}) },
	} {
		s.call("k", func(tx *Tx) {
			if do(tx); tx.TakeWork() < n-1 {
				t.Errorf("%s does not pay for %d holds", name, n)
			}
		})
	}
}

// TestHoldsAreBounded: a key has at most MaxHolds open holds, and its memory shrinks when they have ended.
func TestHoldsAreBounded(t *testing.T) {
	l := noHolds
	for i := range MaxHolds {
		l.add(hold{id: uint64(i), stamp: Instant(i), end: Instant(i + MaxHolds), n: 1})
	}
	l.drop(func(h *hold) bool { return h.id%1000 > 0 })
	if l.len() != 66 || cap(l.all) > 4*66 || l.least != MaxHolds {
		t.Errorf("%d holds remain in %d, and the first ends at %d", l.len(), cap(l.all), l.least)
	}
	l.drop(func(*hold) bool { return true })
	if l.all != nil || l.least != math.MaxInt64 {
		t.Errorf("%+v remains", l)
	}
}
