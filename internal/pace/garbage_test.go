package pace

import (
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

// garbageState returns GOGC, and the number of collections.
func garbageState() (percent, collections int) {
	all := []metrics.Sample{{Name: "/gc/gogc:percent"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(all)
	return int(all[0].Value.Uint64()), int(all[1].Value.Uint64())
}

// restoreGrowth lets the growth be as before at the end of a test.
func restoreGrowth(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() {
		growth.usual, growth.raised, growth.isRaised = 0, 0, false
		debug.SetGCPercent(before)
	})
}

// TestBackgroundWithoutGrowth: while no growth is set a Background leaves GOGC alone.
func TestBackgroundWithoutGrowth(t *testing.T) {
	restoreGrowth(t)
	inside := 0
	Background(func() { inside, _ = garbageState() })
	_, before := garbageState()
	Collect()
	after, collections := garbageState()
	if inside != 100 || after != 100 || collections != before {
		t.Errorf("GOGC %d in a Background and %d after it, %d collections; want 100, 100, 0", inside, after,
			collections-before)
	}
}

// TestGarbageOfBackground: the growth is raised from a Background until Collect, which waits
// for the last Background.
func TestGarbageOfBackground(t *testing.T) {
	restoreGrowth(t)
	SetGrowth(50, 300)
	check := func(when string, wantPercent, wantCollections int, do func()) {
		_, before := garbageState()
		do()
		if percent, after := garbageState(); percent != wantPercent || after-before != wantCollections {
			t.Errorf("%s: GOGC %d after %d collections, want %d after %d", when, percent, after-before, wantPercent,
				wantCollections)
		}
	}
	check("Collect before any", 50, 0, Collect)
	Background(func() {
		check("in a Background", 300, 0, func() {})
		check("Collect in a Background", 300, 0, Collect)
		check("SetGrowth in a Background", 400, 0, func() { SetGrowth(60, 400) })
		Background(func() {})
		check("Collect after one of two", 400, 0, Collect)
	})
	check("after all", 400, 0, func() {})
	if !mayCollect() {
		t.Error("no collection after all")
	}
	Background(func() {})
	check("one during a collection", 400, 0, collected)
	check("Collect after all", 60, 1, Collect)
	check("Collect again", 60, 0, Collect)
}
