package replication

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// linesOf returns the lines with a text in the log of the node at an address.
func (c *testCluster) linesOf(address, text string) (all []string) {
	for line := range strings.Lines(c.logs.String()) {
		if strings.Contains(line, "at="+address+" ") && strings.Contains(line, text) {
			all = append(all, line)
		}
	}
	return all
}

// Followers log each new leader once when the leader leaves.
func TestFollowersLogLeader(t *testing.T) {
	c := startCluster(t, 3, nil)
	for range 2 {
		leader := c.leader()
		term := leader.leadership().term
		for _, n := range c.nodes {
			if n == leader {
				continue
			}
			const line = `msg="another node leads the cluster"`
			ending := fmt.Sprintf("node=%s raft=%s term=%d", leader.identity().Node, leader.o.Raft, term)
			eventually(t, n.o.Raft+" logs that "+leader.o.Raft+" leads", func() bool {
				count := 0
				for _, l := range c.linesOf(n.o.Raft, line) {
					if strings.Contains(l, ending) {
						count++
					}
				}
				if count > 1 {
					t.Fatalf("it is logged %d times", count)
				}
				return count == 1
			})
		}
		c.close(leader)
	}
}

// A bootstrap and a join log no warnings.
func TestJoinLogsNoWarning(t *testing.T) {
	c := startCluster(t, 3, nil)
	leader := c.leader()
	o := c.options(filepath.Join(t.TempDir(), "n"), freeAddresses(t, 1)[0])
	o.Join = c.peers
	fourth := c.open(o)
	c.nodes = append(c.nodes, fourth)
	eventually(t, "it has a vote", func() bool {
		for _, m := range leader.Nodes("") {
			if m.ID == fourth.identity().Node {
				return m.Voter
			}
		}
		return false
	})
	for _, n := range c.nodes {
		if lines := c.linesOf(n.o.Raft, "level=WARN"); len(lines) > 0 && leader.counts.elected.Load() == 1 {
			t.Errorf("it is warned of %q", lines)
		}
	}
}

// Nodes without a leader answer with the reason.
func TestNoQuorumErrors(t *testing.T) {
	c := &testCluster{t: t, logs: new(testwait.Log)}
	addresses := freeAddresses(t, 2)
	o := c.options(filepath.Join(t.TempDir(), "n"), addresses[0])
	o.Join = addresses[1:]
	newcomer := c.open(o)
	if _, err := take(newcomer, "k", 10, 1); !errors.Is(err, errNoMember) {
		t.Errorf("a node of no cluster answers %v, want %v", err, errNoMember)
	}
	if got := newcomer.Replication().Trouble; got != errNoMember.Error() {
		t.Errorf("its trouble is %q", got)
	}

	c = startCluster(t, 3, keepLeader)
	leader := c.leader()
	if got := leader.Replication().Trouble; got != "" {
		t.Errorf("the trouble of a leader is %q", got)
	}
	var gone []*Node
	for _, n := range c.nodes {
		if n != leader {
			gone = append(gone, n)
		}
	}
	for _, n := range gone {
		c.close(n)
	}
	eventually(t, "the last of three reaches no majority", func() bool {
		_, err := take(leader, "k", 10, 1)
		return errors.Is(err, errNoQuorum) && leader.Replication().Trouble == errNoQuorum.Error()
	})
}

// isMajority counts voters only.
func TestMajority(t *testing.T) {
	c := startCluster(t, 3, nil)
	leader := c.leader()
	s := leader.stack.Load()
	ids := make([]string, 0, 3)
	for _, n := range c.nodes {
		ids = append(ids, n.identity().Node)
	}
	for n := range 4 {
		if got, want := isMajority(s.raft, ids[:n]), n >= 2; got != want {
			t.Errorf("%d of 3 are a majority: %v", n, got)
		}
	}
	if isMajority(s.raft, []string{strings.Repeat("1", 40), strings.Repeat("2", 40), strings.Repeat("3", 40)}) {
		t.Error("nodes without a vote are a majority")
	}
}
