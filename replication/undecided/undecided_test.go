package undecided

import (
	"slices"
	"testing"

	"limitsrv/engine"
)

// TestIsDecided: the policies decide requests for tokens and leases, and requests by rules. They decide
// nothing that only the log may record: a node would change its own state, and answer CLUSTERDOWN.
func TestIsDecided(t *testing.T) {
	fixed := engine.Params{Alg: engine.Fixed, Limit: 10, Period: engine.MinPeriod}
	take := engine.Op{Kind: engine.Take, Key: []byte("k"), Params: fixed, N: 1}
	guard := engine.Op{Kind: engine.Take, Mode: engine.Guard, Key: []byte("box"), N: 1}
	group := func(ops ...engine.Op) []engine.Op {
		ops = slices.Clone(ops)
		ops[0].Group = uint8(len(ops))
		return ops
	}
	for name, tt := range map[string]struct {
		ops  []engine.Op
		want bool // the same under all policies but Error
	}{
		"a take":              {[]engine.Op{take}, true},
		"a lease":             {[]engine.Op{{Kind: engine.Acquire, N: 1}}, true},
		"a group":             {group(take, take), true},
		"rules":               {group(engine.Op{Kind: engine.Needs}, take), true},
		"rules with a box":    {group(engine.Op{Kind: engine.Needs}, guard, take), true},
		"a block":             {group(guard, take), false},
		"a look":              {[]engine.Op{{Kind: engine.Take, Params: fixed}}, false},
		"a charge":            {[]engine.Op{{Kind: engine.Charge, N: 1}}, false},
		"a refund":            {[]engine.Op{{Kind: engine.Refund, N: 1}}, false},
		"a released lease":    {[]engine.Op{{Kind: engine.Release}}, false},
		"a reset":             {[]engine.Op{{Kind: engine.Forget}}, false},
		"a command on values": {[]engine.Op{{Kind: engine.Do}}, false},
	} {
		for _, policy := range []Policy{Error, Allow, Deny, Local} {
			if got := IsDecided(tt.ops, policy); got != (tt.want && policy != Error) {
				t.Errorf("%s is decided under %s: %v", name, policy, got)
			}
		}
	}
}
