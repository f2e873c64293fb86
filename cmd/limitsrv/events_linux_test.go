package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestEventsOfCluster asks all nodes of a cluster beyond thresholds: the receiver gets each event once,
// also after the leader has been killed.
func TestEventsOfCluster(t *testing.T) {
	r := receiveEvents(t)
	c := startTrio(t, directories(t), r.options(t)...)
	c.awaitRecovery(t)
	await(t, "the rules are in use", func() bool {
		replies, err := c.peers[0].ask("RL.RULES VERSION")
		return err == nil && strings.HasPrefix(fmt.Sprint(replies[0]), "[1 ")
	})
	exhaust := func(tenant string) {
		t.Helper()
		for range 4 {
			for _, m := range c.peers {
				_, _ = m.ask("RL.CHECK api tenant " + tenant) // a peer may be over
			}
		}
	}
	arrives := func(tenant string) {
		t.Helper()
		await(t, "the last event of "+tenant+" arrives", func() bool {
			exhaust(tenant)
			return r.has("near "+tenant)() && r.has("exhausted "+tenant)() && r.has("blocked "+tenant)()
		})
	}
	arrives("acme")
	await(t, "the list is empty", func() bool {
		replies, err := c.peers[0].ask("LLEN limitsrv:events")
		return err == nil && replies[0] == int64(0)
	})
	leader := -1
	await(t, "there is a leader", func() bool { leader = c.leader(); return leader >= 0 })
	c.peers[leader].kill()
	await(t, "there is another leader", func() bool { leader = c.leader(); return leader >= 0 })
	exhaust("acme")
	arrives("late")
	r.requireOnce(t, "near acme", "exhausted acme", "blocked acme", "near late", "exhausted late", "blocked late")
}
