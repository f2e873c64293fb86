package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// TestMirror changes texts at random, and copies them now and then into an engine without keys, in
// parts. The copies are equal, with the bytes of the texts.
func TestMirror(t *testing.T) {
	seed := testwait.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	from := newLibrary(8)
	to := engine.New(engine.Options{})
	for step := range 300 {
		changeTexts(from, rng)
		if rng.IntN(3) > 0 {
			continue
		}
		for set := range engine.TextSet(engine.TextSets) {
			if to.TextMark(set) != from.TextMark(set) {
				copySet(t, from, to, set, rng)
			}
			got, _ := to.TextsAfter(set, 0, 1<<30)
			want, _ := from.TextsAfter(set, 0, 1<<30)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, step %d: set %d is %v, want %v", seed, step, set, got, want)
			}
		}
	}
}

// changeTexts changes a text.
func changeTexts(e *engine.Engine, rng *rand.Rand) {
	name, text := fmt.Sprint(rng.IntN(10)), fmt.Sprintf("\xff text %d", rng.IntN(1000))
	switch rng.IntN(9) {
	case 0:
		do(e, 1e18, withdraw, name)
	case 1:
		if rng.IntN(4) == 0 {
			do(e, 1e18, clearOut)
		}
	case 2:
		var b engine.Batch
		b.AddFlush()
		e.Apply(1e18, &b)
	case 3, 4, 5:
		learn(e, fmt.Sprintf("\xfe source %d", rng.IntN(20)))
	default:
		do(e, 1e18, shelve, name, text)
	}
}

// copySet copies a set as a front does: the newer texts, and then the states of all.
func copySet(t *testing.T, from, to *engine.Engine, set engine.TextSet, rng *rand.Rand) {
	t.Helper()
	var added []engine.Text
	after, before := to.TextMark(set).Version, to.TextMark(set)
	for more := true; more; {
		var part []engine.Text
		part, more = from.TextsAfter(set, after, rng.IntN(40))
		if added = append(added, part...); len(added) > 0 {
			after = added[len(added)-1].Version
		}
	}
	mark := from.TextMark(set)
	if to.MergeTexts(set, added, nil, mark) {
		return
	}
	if to.TextMark(set) != before {
		t.Error("a copy that failed changed the set")
	}
	states := append([]uint64{}, from.TextStates(set)...)
	if !to.MergeTexts(set, added, states, mark) {
		t.Errorf("set %d is not as %v with the states %v", set, mark, slices.Sorted(slices.Values(states)))
	}
}
