package engine

import (
	"testing"

	"limitsrv/engine/siphash"
)

// TestHoldersDoNotChain adds holders with ids in ascending order in both halves: an attacker with
// the keys of the ids can choose such ids. The treaps must be no deeper than treaps of random
// ids.
func TestHoldersDoNotChain(t *testing.T) {
	const (
		holders = 20_000
		deepest = 80
	)
	m := leases{priorities: siphash.KeyFor([16]byte{1}, "test")}
	var byID, byEnd nodeRef
	for i := range uint64(holders) {
		byID, byEnd = m.insert(byID, byEnd, holderID{i << 32, i << 32}, Instant(i))
	}
	for o, root := range map[order]nodeRef{idOrder: byID, endOrder: byEnd} {
		if depth := m.depth(o, root); depth > deepest {
			t.Errorf("the treap of order %d has depth %d, want at most %d", o, depth, deepest)
		}
	}
}

// depth returns the depth of a treap.
func (m *leases) depth(o order, root nodeRef) int {
	if root == 0 {
		return 0
	}
	children := m.node(root).children(o)
	return 1 + max(m.depth(o, children[0]), m.depth(o, children[1]))
}
