package invariants

import (
	"slices"
	"testing"
)

func TestSample(t *testing.T) {
	var (
		s    Sample
		got  []int
		want []int
	)
	if Enabled {
		want = []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3072}
	}
	for i := 1; i < 4096; i++ {
		if s.Next() {
			got = append(got, i)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("selected %v, want %v", got, want)
	}
}

func TestViolated(t *testing.T) {
	defer func() {
		if got, want := recover(), "invariant violated: 3 keys, want 2"; got != want {
			t.Errorf("panic with %v, want %q", got, want)
		}
	}()
	Violated("%d keys, want %d", 3, 2)
}
