package persist

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
	"limitsrv/persist/commit"
)

// together executes batches as a single group and returns their errors.
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

// taking returns a batch that takes a permit from each key.
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
	check(3, perform(s, a)) // 1 more, and the permit of the other batch
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
			// removes the last denied key as well
			perform(s, &engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: []byte(want[0])}}})
			end(t, s, false)
			s = start(t, o)
			defer end(t, s, false)
			if got := keysOf(s); !slices.Equal(got, want[1:]) {
				t.Errorf("%d keys after a restart, want the %d before it", len(got), len(want)-1)
			}
		})
	}
}

// TestEvictedInFlight reaches the memory bound while a batch that takes from existing keys
// is logged and not yet applied: the next group must wait for it, and the keys that are
// left must survive a restart.
func TestEvictedInFlight(t *testing.T) {
	o := testOptions(t, vfs.NewMem(), Always)
	o.Engine = engine.Options{Shards: 1, MaxMemory: 200 << 10, Evict: true}
	s := start(t, o)
	p := s.pipeline
	// writeGroup writes a group of a batch without passing it on.
	writeGroup := func(b *engine.Batch) *commit.Group[request] {
		s.Exec(b, func(error) {})
		s.logMu.lock()
		defer s.logMu.unlock()
		s.mu.Lock()
		g := p.nextGroup()
		entry := p.takeTail()
		s.mu.Unlock()
		if err := p.append(entry); err != nil {
			t.Error(err)
		}
		if !g.Claim() {
			t.Error("the group was abandoned")
		}
		return g
	}
	made := 0
	newKeys := func(n int) (keys []string) {
		for range n {
			keys = append(keys, fmt.Sprintf("key:%d", made))
			made++
		}
		return keys
	}
	for s.Engine().MemoryBytes() < o.Engine.MaxMemory-(20<<10) {
		if err := perform(s, taking(counterOf, newKeys(20)...)); err != nil {
			t.Fatal(err)
		}
	}
	if s.bound.Exceeded(s.engine, new(engine.Batch)) {
		t.Fatalf("%d keys exceed the bound", made)
	}
	old := keysOf(s)
	first := writeGroup(taking(counterOf, newKeys(1000)...))
	back := writeGroup(taking(counterOf, old[:len(old)/2]...))
	p.appended <- appendedGroup{first, 1}
	eventually(t, "the first group is applied", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.inFlight) == 1
	})
	if !s.bound.Exceeded(s.engine, new(engine.Batch)) {
		t.Fatalf("%d keys are within the bound", made)
	}
	third := make(chan *commit.Group[request])
	go func() { third <- writeGroup(taking(counterOf, "another")) }()
	time.Sleep(20 * time.Millisecond) // time for it to be built too early
	p.appended <- appendedGroup{back, 2}
	p.appended <- appendedGroup{<-third, 3}
	if err := perform(s, &engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: []byte("none")}}}); err != nil {
		t.Fatal(err)
	}
	want := keysOf(s)
	if evicted := s.Engine().Stats().Evicted; evicted == 0 || len(want)+int(evicted) != made+1 {
		t.Errorf("%d keys of %d are left, and %d were evicted", len(want), made+1, evicted)
	}
	end(t, s, false)
	s = start(t, o)
	defer end(t, s, false)
	if got := keysOf(s); !slices.Equal(got, want) {
		t.Errorf("%d keys before the restart, %d after it, or others", len(want), len(got))
	}
}
