package live

import (
	"fmt"
	"sync"
	"testing"

	"limitsrv/commands/rules/storedtest"
)

// count counts a request at once.
func (s *State) count(stripe, limit int, label []byte, o Outcome) {
	var t Tally
	t.Count(s, stripe, limit, label, o)
	t.Flush(stripe)
}

// TestCounts: a limit keeps its counters as long as rules have it, also those that are added
// to by older rules.
func TestCounts(t *testing.T) {
	two := "domain: api\nrules:\n  - {name: a, limits: [1/s]}\n  - {name: b, limits: [2/s]}\n---\ndomain: old\n"
	e := storedtest.NewEngine(1)
	k := newKeeper(e)
	storedtest.Load(t, e, start, 0, two, "", "")
	old := await(t, k)
	for stripe := range 3 * countStripes {
		old.count(stripe, 0, nil, Allowed)
		old.count(stripe, 1, nil, Limited)
		old.CountUnmatched(stripe, old.Set.Domain("api"))
		old.CountUnmatched(stripe, nil)
		old.CountPenalty(stripe)
	}
	storedtest.Load(t, e, start, 1,
		"domain: new\n---\ndomain: api\nrules:\n  - {name: new, limits: [1/s]}\n  - {name: b, limits: [3/s]}\n", "", "")
	s := await(t, k)
	old.count(5, 1, nil, Near)
	old.CountUnmatched(5, old.Set.Domain("api"))
	old.CountUnmatched(5, old.Set.Domain("old"))
	if got, want := s.Counts(1), [Outcomes]int64{Limited: 3 * countStripes, Near: 1}; got != want {
		t.Errorf("counters of a changed limit: %v, want %v", got, want)
	}
	if got := s.Counts(0); got != [Outcomes]int64{} {
		t.Errorf("counters of a new limit: %v", got)
	}
	got := [...]int64{s.Unmatched(s.Set.Domain("new")), s.Unmatched(s.Set.Domain("api")), s.Unmatched(nil), s.Penalties()}
	if want := [...]int64{0, 3*countStripes + 1, 3 * countStripes, 3 * countStripes}; got != want {
		t.Errorf("unmatched requests of domains, of others, and penalties are %v, want %v", got, want)
	}
	if n := testing.AllocsPerRun(100, func() { s.count(5, 1, nil, Near); s.CountUnmatched(5, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// series returns the counts of requests that were limited, by label.
func (s *State) limited(limit int) map[string]int64 {
	all := map[string]int64{}
	s.Series(limit, func(label string, counts [Outcomes]int64) { all[label] += counts[Limited] })
	return all
}

// TestLabels: up to three labels have counters of their own, which loads keep. A load that
// removes a limit makes room for the labels of other limits.
func TestLabels(t *testing.T) {
	e := storedtest.NewEngine(1)
	k := newKeeper(e)
	storedtest.Load(t, e, start, 0, "domain: api\nrules:\n  - {name: a, limits: [1/s]}\n  - {name: b, limits: [2/s]}\n",
		"", "")
	s := await(t, k)
	for _, label := range []string{"x", "y", "x", "", "z", "x"} {
		s.count(1, 0, []byte(label), Limited)
		s.count(2, 1, []byte(label), Limited)
	}
	for limit, want := range []map[string]int64{{"": 2, "x": 3, "y": 1}, {"": 3, "x": 3}} {
		if got := s.limited(limit); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("limit %d was limited %v, want %v", limit, got, want)
		}
		if got := s.Counts(limit)[Limited]; got != 6 {
			t.Errorf("limit %d was limited %d times in all, want 6", limit, got)
		}
	}
	x, beyond := []byte("x"), []byte("beyond the bound")
	if n := testing.AllocsPerRun(100, func() { s.count(2, 1, x, Near); s.count(2, 1, beyond, Near) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	storedtest.Load(t, e, start, 1, "domain: api\nrules:\n  - {name: b, limits: [3/s]}\n", "", "")
	s = await(t, k)
	for _, label := range []string{"x", "y", "z", "more"} {
		s.count(1, 0, []byte(label), Limited)
	}
	if got, want := s.limited(0), map[string]int64{"": 4, "x": 4, "y": 1, "z": 1}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the limit that stays was limited %v, want %v", got, want)
	}
}

// TestRaceLabels counts the same labels in many goroutines: nothing is lost, and no label is
// there twice.
func TestRaceLabels(t *testing.T) {
	const goroutines, times = 8, 300
	e := storedtest.NewEngine(1)
	k := newKeeper(e)
	storedtest.Load(t, e, start, 0, "domain: api\nrules:\n  - {name: a, limits: [1/s]}\n", "", "")
	s := await(t, k)
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range times {
				s.count(g, 0, []byte{'a' + byte(i%5)}, Limited)
			}
		})
	}
	all.Wait()
	labels, sum := 0, int64(0)
	s.Series(0, func(label string, counts [Outcomes]int64) {
		sum += counts[Limited]
		if label != "" {
			labels++
		}
	})
	if labels != 3 || sum != goroutines*times {
		t.Errorf("%d labels and a sum of %d, want 3 and %d", labels, sum, goroutines*times)
	}
}
