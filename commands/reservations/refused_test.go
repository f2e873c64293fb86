package reservations_test

import (
	"strings"
	"testing"

	"limitsrv/commands/reservations"
	"limitsrv/engine"
)

// TestRefusedExtensionChangesNothing: an extension that a limit refuses changes no limit, not even its
// parameters, which may be newer than the parameters of the reservation.
func TestRefusedExtensionChangesNothing(t *testing.T) {
	old := engine.Params{Alg: engine.Fixed, Limit: 9, Period: 60e9}
	for name, newer := range map[string]engine.Params{
		"the parameters":    old,
		"another limit":     {Alg: engine.Fixed, Limit: 20, Period: 60e9},
		"another window":    {Alg: engine.Fixed, Limit: 20, Period: 90e9},
		"another algorithm": {Alg: engine.Slide, Limit: 20, Period: 90e9},
	} {
		e, now := newEngine(), engine.Instant(1e18)
		op := func(key string, p engine.Params, n int64) engine.Op {
			return engine.Op{Params: p, N: n, Key: []byte(key)}
		}
		b := engine.Batch{Ops: []engine.Op{op("a", old, 2), op("b", old, 2), op("c", old, 2)}}
		reservations.Reserve(&b, 0, []byte("id"), reservations.Terms{TTL: 50e9})
		e.Apply(now, &b)
		if newer.Alg != old.Alg {
			e.Apply(now, &engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: []byte("a")}}})
		}
		e.Apply(now, &engine.Batch{Ops: []engine.Op{op("a", newer, 1), op("b", old, 1), op("c", newer, 1)}})
		before := e.Digest(now)
		for _, by := range []int64{7, 10, 1 << 40} {
			var b engine.Batch
			reservations.Extend(&b, []byte("id"), reservations.Extension{TTL: 1, By: by, Keep: reservations.Unchanged})
			e.Apply(now, &b)
			if answer := string(b.Calls[0].Answer); !strings.Contains(answer, "limited") {
				t.Errorf("%s: BY %d is answered %q", name, by, answer)
			}
			if e.Digest(now) != before {
				t.Errorf("%s: a refused extension BY %d has changed a limit", name, by)
			}
		}
	}
}
