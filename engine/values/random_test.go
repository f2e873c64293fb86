package values

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct{ n, k int }{{1, 0}, {1, 1}, {10, 3}, {10, 10}, {100, 17}, {100, 100}} {
		counts := make([]int, tt.n)
		const rounds = 2000
		for range rounds {
			ranks := Ranks([]int{-1}, r, tt.n, tt.k)
			if len(ranks) != tt.k+1 || !slices.IsSorted(ranks) || len(slices.Compact(ranks)) != tt.k+1 {
				t.Fatalf("Ranks(%d, %d) = %v", tt.n, tt.k, ranks)
			}
			for _, i := range ranks[1:] {
				counts[i]++
			}
		}
		want := rounds * tt.k / tt.n
		for i, got := range counts {
			if got < want*7/10-20 || got > want*13/10+20 {
				t.Errorf("Ranks(%d, %d) chose %d %d times, want about %d", tt.n, tt.k, i, got, want)
			}
		}
	}
}

// smallest is a Source that gives the numbers that Pick must reject, and then numbers that
// it accepts.
type smallest struct{ left int }

func (s *smallest) Uint64() uint64 {
	if s.left--; s.left >= 0 {
		return 0
	}
	return 1 << 63
}

func TestPickRejects(t *testing.T) {
	s := &smallest{left: 5}
	if got := Pick(s, 3); got != 1 || s.left != -1 {
		t.Errorf("Pick = %d with %d numbers left, want 1 after all that are rejected", got, s.left)
	}
}
