package persist

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// together executes batches as one group, and returns their errors.
func together(s *Store, batches ...*engine.Batch) []error {
	answers := make([]chan error, len(batches))
	for i, b := range batches {
		answers[i] = make(chan error, 1)
		s.Exec(b, func(err error) { answers[i] <- err })
	}
	s.Commit()
	errs := make([]error, len(batches))
	for i := range answers {
		errs[i] = <-answers[i]
	}
	return errs
}

// taking is a batch that takes one permit of each key.
func taking(p engine.Params, keys ...string) *engine.Batch {
	b := &engine.Batch{}
	for _, key := range keys {
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Key: []byte(key), Params: p, N: 1})
	}
	return b
}

// TestBatchesAreReused has a connection's batch carried out in company first, then
// alone, and with more ops than before.
func TestBatchesAreReused(t *testing.T) {
	s := start(t, testOptions(t, vfs.NewMem(), Always))
	defer end(t, s, false)
	a, b := taking(counterOf, "a", "b"), taking(counterOf, "a")
	check := func(want int64, errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := counterOf.Limit - a.Decisions[0].Remaining; got != want || len(a.Decisions) != len(a.Ops) {
			t.Errorf("%d of key a are used, want %d; %d decisions", got, want, len(a.Decisions))
		}
	}
	check(1, together(s, a, b)...)
	check(3, perform(s, a)) // 1 more, and the other batch's
	a.Ops = append(a.Ops, taking(counterOf, "c", "d", "e", "f", "g").Ops...)
	check(4, together(s, a, b)...)
	check(6, perform(s, a))
}
