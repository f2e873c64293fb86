package replication

import (
	"fmt"
	"slices"
	"testing"

	"limitsrv/engine"
	"limitsrv/replication/undecided"
)

// byRules returns a request by rules: a penalty box, a limit, a shadow limit and a limit that
// only looks.
func byRules(policy engine.NoQuorum) []engine.Op {
	penalty := engine.Penalty{After: 99, Within: 1e9, Block: 1e9, Max: 1e9, Forgive: 1e9, Growth: 100}
	shadow, look := fixed("shadow", 4), fixed("look", 0)
	shadow.Mode = engine.Shadow
	return []engine.Op{
		{Kind: engine.Needs, Group: 5, NoQuorum: policy},
		{Kind: engine.Take, Mode: engine.Guard, Key: []byte("box"), Params: penalty.Params(), N: 1},
		fixed("k", 4), shadow, look,
	}
}

// TestNoQuorumOfDomains asks a node that has lost the majority. It tests each policy of the node
// with each no_quorum setting of a domain. The requests are decided by rules, in a batch.
func TestNoQuorumOfDomains(t *testing.T) {
	t.Parallel()
	names := map[NoQuorum]string{undecided.Error: "down", undecided.Allow: "allowed", undecided.Deny: "denied",
		undecided.Local: "local"}
	for _, policy := range []NoQuorum{undecided.Error, undecided.Allow, undecided.Deny, undecided.Local} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, 2, func(o *Options) { o.NoQuorum = policy })
			c.decide(c.leader(), fixed("k", 4))
			eventually(t, "both know requests by rules", func() bool {
				ready := engine.Batch{Ops: byRules(engine.NoQuorumDefault)}
				for i := range ready.Ops[1:] {
					ready.Ops[1+i].Key = fmt.Append(nil, "other ", i)
				}
				return exec(c.leader(), &ready) == nil
			})
			c.waitForAgreement()
			n := c.nodes[0]
			c.close(c.nodes[1])
			eventually(t, "it has no leader", func() bool { return !n.Replication().HasQuorum })
			for setting := range engine.NoQuorum(len(undecided.Policies)) {
				own := undecided.Policies[setting]
				if setting == engine.NoQuorumDefault {
					own = policy
				}
				b := engine.Batch{Ops: slices.Concat(byRules(setting), byRules(engine.NoQuorumAllow))}
				if err := exec(n, &b); err != nil {
					t.Fatal(err)
				}
				if got := outcomeOf(b.Decisions[:5]); got != names[own] {
					t.Errorf("a domain with %d is answered %s, want %s: %+v", setting, got, names[own], b.Decisions[:5])
				}
				if marked := b.Decisions[2].NoQuorum; marked != (own == undecided.Allow || own == undecided.Deny) {
					t.Errorf("a domain with %d has a decision with the mark %v", setting, marked)
				}
				if got := outcomeOf(b.Decisions[5:]); got != "allowed" {
					t.Errorf("beside it, a domain that allows is answered %s: %+v", got, b.Decisions[5:])
				}
				alone := engine.Batch{Ops: byRules(setting)}
				if err := exec(n, &alone); isDown(err) != (own == undecided.Error) {
					t.Errorf("alone, a domain with %d is answered %v", setting, err)
				}
			}
		})
	}
}

// outcomeOf returns the outcome of byRules: of the key k, 6 of 10 were left.
func outcomeOf(ds []engine.Decision) string {
	for _, d := range ds {
		if d.Status == engine.Down {
			return "down"
		}
	}
	k := ds[2]
	switch {
	case ds[0].Allowed != 1 || ds[1].Allowed != 1:
		return "wrong"
	case k.Allowed == 0 && k.Wait.Millis == undecided.DeniedRetryMillis && k.Remaining == 0:
		return "denied"
	case k.Allowed == 1 && k.Remaining == 6 && ds[3].Remaining == 6 && ds[4].Remaining == 10:
		return "allowed"
	case k.Params == everyAlgorithm["fixed"] && k.Remaining == 2:
		return "local" // the second time denied, with 2 left
	}
	return "wrong"
}
