package commands

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"limitsrv/commands/rules/source"
	"limitsrv/commands/session"
)

// TestConcurrentLoads loads texts from several goroutines: each load has a version of its
// own, and is compared with the version before it.
func TestConcurrentLoads(t *testing.T) {
	const loaders, loads = 4, 12
	h := newTestHandler("")
	load := func(expect int64, limit int) (session.RulesLoaded, error) {
		text := fmt.Sprintf("domain: api\nrules:\n  - {name: login, limits: [%d/minute]}\n", limit)
		return h.LoadRules(context.Background(),
			session.RulesLoad{Files: []source.File{{Text: []byte(text)}}, Expect: expect})
	}
	if r, err := load(0, 1); err != nil || r != (session.RulesLoaded{Version: 1, Added: 1}) {
		t.Fatalf("the first load: %+v, %v", r, err)
	}
	var (
		mu   sync.Mutex
		seen = map[uint64]bool{1: true}
		all  sync.WaitGroup
	)
	for g := range loaders {
		all.Go(func() {
			for i := range loads {
				r, err := load(-1, 2+g*loads+i)
				mu.Lock()
				if err != nil || seen[r.Version] || r.Added+r.Removed != 0 || r.Changed != 1 {
					t.Errorf("load %d of %d: %+v, %v; the version was seen: %v", i, g, r, err, seen[r.Version])
				}
				seen[r.Version] = true
				mu.Unlock()
				if now := h.Config().Rules.Current().Header.Version; now < r.Version {
					t.Errorf("version %d is in use after load %d", now, r.Version)
				}
			}
		})
	}
	all.Wait()
	if s := h.Config().Rules.Current(); len(seen) != 1+loaders*loads || s.Header.Version != uint64(len(seen)) {
		t.Errorf("%d versions, and version %d is in use", len(seen), s.Header.Version)
	}
	if _, err := load(3, 999); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprintf("rules are at version %d, not 3", len(seen))) {
		t.Errorf("another version than the expected: %v", err)
	}
	if failed, _ := h.RulesFailed(); failed != 1 {
		t.Errorf("%d loads failed, want 1", failed)
	}
}
