package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestSoughtSlots seeks hashes on pages that grow, shrink and split, with slots noted for the same
// hash, for other hashes, and before the last changes: the result is the result of a search. The
// first entries of the dir are the entries of the pages.
func TestSoughtSlots(t *testing.T) {
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 5))
		e := New(Options{Shards: 1})
		s, right := &e.shards[0], 0
		for range 40 {
			var b Batch
			for range 200 {
				op := Op{Kind: Take, Params: Params{Alg: Fixed, Limit: 9, Period: 1e9}, N: 1, Key: fmt.Append(nil, r.IntN(4000))}
				if r.IntN(3) == 0 {
					op = Op{Kind: Forget, Key: op.Key}
				}
				b.Ops = append(b.Ops, op)
			}
			e.Apply(1e18, &b)
			for i := range b.Ops {
				_, h := e.locate(0, b.Ops[r.IntN(i+1)].Key)
				p := s.pageOf(h)
				want := p.seek(tag(h, p.depth))
				if s.sought[h>>soughtShift%(1<<soughtBits)] == uint16(want) {
					right++
				}
				if got := s.sought.seek(p, h); got != want {
					t.Fatalf("seed %d: slot %d of %d, want %d", seed, got, p.slots(), want)
				}
				if r.IntN(2) == 0 {
					s.sought.note(h, r.IntN(p.slots()+2))
				}
			}
			firsts := s.firstEntries(nil, uint8(r.IntN(int(s.dirDepth)+1)))
			for i, got := range firsts {
				h := uint64(i) << (64 - s.dirDepth) * uint64(len(s.dir)/len(firsts))
				depth := s.headOf(h).depth
				if want :=
					h >> (64 - depth) << (64 - depth) >> (64 - s.dirDepth) / uint64(len(s.dir)/len(firsts)); uint64(got) != want {
					t.Fatalf("seed %d: entry %d of %d has the page of %d, want %d", seed, i, len(firsts), got, want)
				}
			}
		}
		if right == 0 || s.dirDepth < 4 {
			t.Errorf("seed %d: no noted slot was right, or the dir has only %d bits", seed, s.dirDepth)
		}
	}
}
