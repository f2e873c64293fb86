package engine

import (
	"fmt"
	"testing"
)

// TestFullOfLiveKeys refuses keys where there is nothing to be forgotten: that is
// not looked for again and again, but after a while.
func TestFullOfLiveKeys(t *testing.T) {
	e := New(Options{Shards: 1, MaxMemory: 1 << 20})
	s, number := &e.shards[0], 0
	refuse := func(now Instant, n int64) {
		for want := e.Stats().Refused + n; e.Stats().Refused < want; number++ {
			b := &Batch{Ops: []Op{{Kind: Take, Params: benchParams, N: 1, Key: fmt.Appendf(nil, "new:%d", number)}}}
			e.Apply(now, b)
		}
	}
	fill(e, benchParams, 40_000)
	now := Instant(1e18)
	refuse(now, 2*int64(s.slab.pages()))
	hand := s.hand
	refuse(now+barrenFor-1, 100)
	if s.hand != hand {
		t.Errorf("the hand went from %d to %d of %d pages, all of which had nothing to give", hand, s.hand, s.slab.pages())
	}
	refuse(now+barrenFor, 1)
	if s.hand == hand {
		t.Errorf("the hand is still at %d after %d ns", hand, int64(barrenFor))
	}
}
