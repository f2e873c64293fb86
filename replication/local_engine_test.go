package replication

import (
	"fmt"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/persist/commit"
	"limitsrv/replication/fsm"
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
			l.decide(m, b, commit.Bound{MaxBytes: bound, Evict: evict})
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
