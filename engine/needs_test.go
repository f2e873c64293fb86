package engine_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"limitsrv/engine"
)

// needing returns a group that takes a permit of a key if the version of the libraries is v.
func needing(v uint64, key string) []engine.Op {
	return []engine.Op{
		{Kind: engine.Needs, Group: 2, DB: uint8(engine.Libraries), N: int64(v)},
		{Kind: engine.Take, Key: []byte(key), Params: counter(engine.Token, 10), N: 1},
	}
}

// TestNeeds decides a group only under the version of documents that it needs.
func TestNeeds(t *testing.T) {
	e := newLibrary(8)
	now := engine.Instant(1e18)
	for i, tt := range []struct {
		change   []string // arguments of shelve
		needs    uint64
		want     engine.Status
		permits  int64 // of the key, left
		readOnly bool
	}{
		{nil, 0, engine.OK, 9, false},
		{nil, 1, engine.Stale, 9, false},
		{[]string{"rules", "one"}, 0, engine.Stale, 9, false},
		{nil, 1, engine.OK, 8, false},
		{[]string{"rules", "two"}, 1, engine.Stale, 8, true},
		{nil, 2, engine.OK, 8, true},
		{nil, 2, engine.OK, 7, false},
	} {
		if tt.change != nil {
			do(e, now, shelve, tt.change...)
		}
		b := engine.Batch{Ops: needing(tt.needs, "key")}
		before, apply := e.Digest(now), e.Apply
		if tt.readOnly {
			b.Ops[1].N, apply = 0, e.Look
		}
		apply(now, &b)
		for j, d := range b.Decisions {
			if d.Status != tt.want || d.Status == engine.OK && d.Allowed != 1 || d.Changed != (e.Digest(now) != before) {
				t.Errorf("group %d, op %d: %+v, want status %d", i, j, d, tt.want)
			}
		}
		if left := applyOne(e, now, "key"); left != tt.permits {
			t.Errorf("group %d: %d permits are left, want %d", i, left, tt.permits)
		}
	}
}

func applyOne(e *engine.Engine, now engine.Instant, key string) int64 {
	return apply(e, now, engine.Op{Kind: engine.Peek, Key: []byte(key)})[0].Remaining
}

// TestRaceNeeds decides groups while documents change: no group passes by an older version
// than a version that was answered before the group was applied.
func TestRaceNeeds(t *testing.T) {
	e := newLibrary(8)
	var answered atomic.Uint64
	var passed, stale atomic.Int64
	race(e, func(g int, r *rand.Rand, now func() engine.Instant) {
		for i := range 200 {
			if g == 0 {
				do(e, now(), shelve, "rules", fmt.Sprint(i))
				answered.Store(uint64(i + 1))
				continue
			}
			v := e.DocumentsVersion(engine.Libraries)
			b := engine.Batch{Ops: needing(v, fmt.Sprint("key ", r.IntN(99)))}
			least := answered.Load()
			e.Apply(now(), &b)
			if b.Decisions[1].Status == engine.Stale {
				stale.Add(1)
				continue
			}
			if passed.Add(1); v < least {
				t.Errorf("a group passed by version %d after %d was answered", v, least)
			}
		}
	})
	if passed.Load() == 0 {
		t.Errorf("no group passed, %d were stale", stale.Load())
	}
}
