package persist

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

// together executes batches as one group and returns their errors.
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

// taking returns a batch that takes one permit from each key.
func taking(p engine.Params, keys ...string) *engine.Batch {
	b := &engine.Batch{}
	for _, key := range keys {
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Key: []byte(key), Params: p, N: 1})
	}
	return b
}

// TestBatchesAreReused applies a connection's batch merged with another first, then alone
// and with more ops than before.
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
			t.Errorf("%d permits of key a are used, want %d; %d decisions", got, want, len(a.Decisions))
		}
	}
	check(1, together(s, a, b)...)
	check(3, perform(s, a)) // 1 more, and that of the other batch
	a.Ops = append(a.Ops, taking(counterOf, "c", "d", "e", "f", "g").Ops...)
	check(4, together(s, a, b)...)
	check(6, perform(s, a))
}

// TestDeniedForMemoryStaysDenied checks that keys denied for memory do not exist after a
// restart either, although replay runs without the memory bound.
func TestDeniedForMemoryStaysDenied(t *testing.T) {
	for _, policy := range allPolicies {
		t.Run(policy.String(), func(t *testing.T) {
			o := testOptions(t, vfs.NewMem(), policy)
			o.Engine = engine.Options{Shards: 1, MaxMemory: 100 << 10}
			s := start(t, o)
			for i := range 6000 {
				if err := perform(s, taking(counterOf, fmt.Sprintf("key:%d", i))); err != nil {
					t.Fatal(err)
				}
			}
			want := keysOf(s)
			if rejected := s.Engine().Stats().Refused; rejected < 1000 {
				t.Fatalf("%d keys were denied", rejected)
			}
			perform(s, &engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: []byte(want[0])}}}) // removes the last denied key as well
			end(t, s, false)
			s = start(t, o)
			defer end(t, s, false)
			if got := keysOf(s); !slices.Equal(got, want[1:]) {
				t.Errorf("%d keys after a restart, want the %d before it", len(got), len(want)-1)
			}
		})
	}
}

// TestEvictedInFlight evicts a key while a batch that takes from it is logged and not yet
// applied: the re-created key must survive a restart.
func TestEvictedInFlight(t *testing.T) {
	o := testOptions(t, vfs.NewMem(), Always)
	o.Engine = engine.Options{Shards: 1, MaxMemory: 100 << 10, Evict: true}
	s := start(t, o)
	l := s.writePath.(*logAhead)
	// depart writes a group of one batch without passing it on.
	writeGroup := func(b *engine.Batch) *group {
		s.Exec(b, func(error) {})
		s.logMu.lock()
		defer s.logMu.unlock()
		g := l.nextGroup()
		if err := s.append(l.entry.Bytes()); err != nil {
			t.Error(err)
		}
		g.state.Store(groupWritten)
		return g
	}
	var keys []string
	for i := range 4500 {
		keys = append(keys, fmt.Sprintf("key:%d", i))
	}
	for i := 0; i < 3500; i += 100 {
		if err := perform(s, taking(counterOf, keys[i:i+100]...)); err != nil {
			t.Fatal(err)
		}
	}
	first := writeGroup(taking(counterOf, keys[3500:]...))
	back := writeGroup(taking(counterOf, keys[2000:2300]...))
	l.written <- first
	eventually(t, "the first group is applied", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.inFlight) == 1
	})
	third := make(chan *group)
	go func() { third <- writeGroup(taking(counterOf, "another")) }()
	time.Sleep(20 * time.Millisecond) // time for it to depart too early
	l.written <- back
	l.written <- <-third
	if err := perform(s, &engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: []byte("none")}}}); err != nil {
		t.Fatal(err)
	}
	want := keysOf(s)
	end(t, s, false)
	s = start(t, o)
	defer end(t, s, false)
	got := keysOf(s)
	for _, key := range want {
		if _, ok := slices.BinarySearch(got, key); !ok {
			t.Errorf("%s is lost: %d keys before the restart, %d after it", key, len(want), len(got))
			return
		}
	}
}
