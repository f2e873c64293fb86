package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestEachNodeCompilesRules loads rules on one of three nodes: the other nodes compile them
// without a request by rules, and so does a node that starts again.
func TestEachNodeCompilesRules(t *testing.T) {
	c := startTrio(t, directories(t))
	c.awaitRecovery(t)
	await(t, "rules are loaded, when all nodes know of each other's version", func() bool {
		replies, err := c.peers[0].ask(`RL.RULES LOAD "domain: api\nrules: [{name: a, limits: 1/s}]\n"`)
		return err == nil && fmt.Sprint(replies) == "[[1 1 0 0 0]]"
	})
	inUse := func(m *peer) func() bool {
		return func() bool { return strings.Contains(m.logged(), `msg="rules in use" version=1`) }
	}
	for i, m := range c.peers {
		await(t, fmt.Sprintf("peer %d has compiled the rules", i), inUse(m))
	}
	last := c.peers[peerCount-1]
	last.kill()
	last.start(t)
	await(t, "a peer that starts again has compiled the rules", inUse(last))
}
