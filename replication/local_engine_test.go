package replication

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/replication/fsm"
	"limitsrv/replication/undecided"
)

// A node without a quorum gets requests for more and more keys.
func TestLocalDecisionsAreBounded(t *testing.T) {
	const bound = 512 << 10
	for _, evict := range []bool{false, true} {
		var (
			l       localEngine
			m       = fsm.New(fsm.Options{Monotonic: func() time.Duration { return 0 }})
			refused int
		)
		for i := range 40 {
			b := new(engine.Batch)
			for j := range 1000 {
				b.Ops = append(b.Ops, engine.Op{
					Kind: engine.Take, N: 1, Key: fmt.Appendf(nil, "%d:%d", i, j),
					Params: engine.Params{Alg: engine.Fixed, Limit: 10, Period: engine.MaxPeriod},
				})
			}
			b.Decisions = make([]engine.Decision, len(b.Ops))
			l.decide(m, b, engine.Bound{MaxBytes: bound, Evict: evict}, func([]engine.Op) bool { return true })
			for _, d := range b.Decisions {
				if d.Status == engine.NoMemory {
					refused++
				}
			}
		}
		if got := l.engine.MemoryBytes(); got > 2*bound {
			t.Errorf("evict %v: %d bytes are used, the bound is %d", evict, got, bound)
		}
		if evict == (refused > 0) {
			t.Errorf("evict %v: %d keys were refused", evict, refused)
		}
	}
}

// A node without a quorum gets groups with only some members that take tokens. It decides requests
// by rules, and other groups only if all their ops take tokens, each as a group.
func TestLocalDecisionsOnGroups(t *testing.T) {
	take := engine.Op{Kind: engine.Take, N: 1, Key: []byte("k"),
		Params: engine.Params{Alg: engine.Fixed, Limit: 1, Period: engine.MaxPeriod}}
	penalty := engine.Penalty{After: 1, Within: 1e9, Block: 1e9, Max: 1e9, Forgive: 1e9, Growth: 100}
	look, guard, needs := take, take, engine.Op{Kind: engine.Needs}
	look.N, guard.Mode, guard.Params, guard.Key = 0, engine.Guard, penalty.Params(), []byte("box")
	shadow := take
	shadow.Mode = engine.Shadow
	other := take
	other.Key = []byte("other")
	for name, tt := range map[string]struct {
		ops     []engine.Op
		decided bool
	}{
		"a request by rules":   {[]engine.Op{needs, take}, true},
		"a look by rules":      {[]engine.Op{needs, look}, true},
		"rules with a penalty": {[]engine.Op{needs, guard, take}, true},
		"rules in shadow":      {[]engine.Op{needs, shadow}, true},
		"a look at the second": {[]engine.Op{take, look}, false},
		"a look at the first":  {[]engine.Op{look, take, other}, false},
		"a penalty":            {[]engine.Op{guard, take}, true},
		"two takes":            {[]engine.Op{take, other}, true},
	} {
		var l localEngine
		tt.ops[0].Group = uint8(len(tt.ops))
		b := &engine.Batch{Ops: append(tt.ops, other)}
		b.Decisions = slices.Repeat([]engine.Decision{{Status: engine.Down}}, len(b.Ops))
		l.decide(fsm.New(fsm.Options{Monotonic: func() time.Duration { return 0 }}), b, engine.Bound{},
			func(ops []engine.Op) bool { return undecided.IsDecided(ops, undecided.Local) })
		for i, d := range b.Decisions[:len(tt.ops)] {
			if (d.Status == engine.OK) != tt.decided {
				t.Errorf("%s: op %d has the status %d", name, i, d.Status)
			}
		}
		if len(b.Decisions) != len(b.Ops) || b.Decisions[len(tt.ops)].Status != engine.OK {
			t.Errorf("%s: the op after it is decided %+v", name, b.Decisions[len(tt.ops):])
		}
	}
}
