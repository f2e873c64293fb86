package engine

import (
	"fmt"
	"testing"
)

// TestExpiredRecord takes from a key, and again after it has expired: with the same
// algorithm its record is used again, with another it is replaced. Either way the key then
// counts once, and the parameters of the first take are released.
func TestExpiredRecord(t *testing.T) {
	key := []byte("key")
	for first := range Algs() {
		for second := range Algs() {
			if !first.IsCounted() || !second.IsCounted() || algorithms[first].tail != nil || algorithms[second].tail != nil {
				continue
			}
			t.Run(first.String()+" then "+second.String(), func(t *testing.T) {
				e := New(Options{Shards: 1})
				s := &e.shards[0]
				b := &Batch{}
				take := func(now Instant, p Params) (offset, dead int) {
					b.Reset()
					b.Ops = append(b.Ops, Op{Kind: Take, Params: p, N: 1, Key: key})
					e.Apply(now, b)
					if d := b.Decisions[0]; d.Allowed != 1 || d.Remaining != p.Limit-1 || !d.Changed {
						t.Fatalf("Take(%v) at %d = %+v, as of a new key is expected", p, now, d)
					}
					_, h := e.locate(0, key)
					page, i, found := s.find(h, key)
					if !found {
						t.Fatalf("no record after Take(%v)", p)
					}
					return page.offset(i), int(page.dead)
				}
				params := func(a Alg, limit int64) Params {
					p := Params{Alg: a, Limit: limit, Period: 1e9}
					if algorithms[a].usage.Period == Rate {
						p.Count = 1
					}
					return p
				}
				from, _ := take(1e18, params(first, 10))
				to, dead := take(1e18+1e12, params(second, 20))
				if same := first == second; same != (from == to) || same != (dead == 0) {
					t.Errorf("the record moved from %d to %d, leaving %d bytes", from, to, dead)
				}
				if st := e.Stats(); st.Forgotten != 1 || e.Len() != 1 {
					t.Errorf("%d forgotten, %d keys, want 1 and 1", st.Forgotten, e.Len())
				}
				if used := len(s.params.index); used != 1 {
					t.Errorf("%d sets of parameters are kept, want 1", used)
				}
			})
		}
	}
}

// TestExpiredRecordsStay asks for keys again and again after they have reset: their records
// stay where they are, until they were not asked for reuseTime, or memory is short.
func TestExpiredRecordsStay(t *testing.T) {
	const keys, pages = 1000, 1000 // more pages than these keys have
	var (
		e   = New(Options{Shards: 1})
		s   = &e.shards[0]
		b   = &Batch{}
		now = Instant(1e18)
		ask = func(prefix string, p Params) { // for all keys in a second; each key resets in a tenth
			for i := range keys {
				now += 1e6
				b.Reset()
				b.Ops = append(b.Ops, Op{Kind: Take, Params: p, N: 1, Key: fmt.Appendf(nil, "%s%d", prefix, i)})
				e.Apply(now, b)
				if d := b.Decisions[0]; d.Status != OK || d.Remaining != p.Limit-1 {
					t.Fatalf("Take(%v) of %s%d = %+v, as of a new key is expected", p, prefix, i, d)
				}
			}
		}
		bucket = Params{Alg: Token, Limit: 10, Count: 10, Period: 1e9}
	)
	ask("log", Params{Alg: Log, Limit: 10, Period: 1e8})
	if e.Len() >= keys {
		t.Errorf("%d logs, want less than %d: full pages forget those without requests", e.Len(), keys)
	}
	ask("a", bucket)
	for moves, round := s.moves, 0; round < 5; round++ {
		now += reuseTime / 2
		e.Sweep(now, pages)
		if e.Len() != keys {
			t.Fatalf("%d keys after %d sweeps, want the %d buckets", e.Len(), round+1, keys)
		}
		ask("a", bucket)
		if round > 0 && s.moves != moves {
			t.Errorf("round %d moved records", round)
		}
		moves = s.moves
	}
	now += reuseTime / 2
	e.SetBound(Bound{MaxBytes: e.MemoryBytes() * 5 / 4})
	ask("b", bucket)
	if st := e.Stats(); st.Refused != 0 {
		t.Errorf("%d keys refused, want none: there were expired ones", st.Refused)
	}
	e.SetBound(Bound{})
	now += reuseTime + 1e9
	if e.Sweep(now, pages); e.Len() != 0 {
		t.Errorf("%d keys after reuseTime, want none", e.Len())
	}
}
