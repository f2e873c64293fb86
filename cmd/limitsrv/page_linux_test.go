package main

import (
	"testing"

	"limitsrv/internal/testing/browser"
)

// TestPageOfACluster loses one of three nodes.
func TestPageOfACluster(t *testing.T) {
	c := startTrio(t, directories(t), "--admin", "127.0.0.1:0")
	c.awaitRecovery(t)
	leader := c.leader()
	if leader < 0 {
		t.Fatal("nobody leads")
	}
	a, other := c.peers[(leader+1)%peerCount], c.peers[(leader+2)%peerCount]
	until(t, "the admin listener listens", func() bool { return adminAddress.MatchString(a.logged()) })
	origin := "http://" + adminAddress.FindStringSubmatch(a.logged())[1]
	tab := browser.Open(t)
	tab.Screen(360, 740, "light")
	tab.Visit(origin)
	tab.UntilText("#cluster-state", "3 of 3 members online")
	tab.UntilText("#cluster-state", "this one is a follower")
	tab.UntilText("#members", a.client)
	tab.UntilText("#members", "this one")
	if over := browser.Value[int](tab, "document.documentElement.scrollWidth - innerWidth"); over > 0 {
		t.Errorf("the page is %d wider than a phone", over)
	}
	c.peers[leader].kill()
	tab.UntilText("#cluster-state", "2 of 3 members online")
	tab.UntilText("#members", "○ offline")
	tab.UntilText("#ready", "✕ Member offline")
	tab.UntilText("#trouble", "Member offline: "+c.peers[leader].client+
		". 2 of 3 voters make decisions, and one more failure would stop all decisions.")
	other.kill()
	tab.UntilText("#ready", "✕ No majority")
	tab.UntilText("#trouble", "No majority: This member reaches 1 of 3 voters, itself included, and 2 are needed.")
	tab.UntilText("#cluster-state", "No majority: 1 of 3 members online, no decisions")
}
