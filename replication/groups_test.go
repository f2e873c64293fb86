package replication

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"limitsrv/engine"
	"limitsrv/engine/slots"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/batch"
	"limitsrv/replication/forward"
	"limitsrv/replication/fronts"
	"limitsrv/replication/link"
)

// startGroups starts the groups of a cluster, of n nodes each, that share the slots evenly.
func startGroups(t *testing.T, groups, n int) (all []*testCluster) {
	var first []string
	for g := range groups {
		from, to := slots.Count*g/groups, slots.Count*(g+1)/groups-1
		c := startCluster(t, n, func(o *Options) {
			keepLeader(o)
			o.Slots, o.GroupOf = slots.Set{{First: slots.Slot(from), Last: slots.Slot(to)}}, first
		})
		all = append(all, c)
		if g == 0 {
			first = c.peers
		}
	}
	return all
}

// keyOf returns a key of a slot that the group of a node owns.
func keyOf(n *Node) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint("k", i); n.Division().Owned.Has(slots.Of([]byte(key))) {
			return key
		}
	}
}

// Groups share the slots: each decides on its own keys, refuses all other keys, and its nodes know
// the leaders of the other groups, also after a change and after a restart.
func TestGroups(t *testing.T) {
	all := startGroups(t, 3, 2)
	for g, c := range all {
		leader := c.leader()
		eventually(t, "the followers know their slots", func() bool {
			return c.nodes[0].Division() != nil && c.nodes[1].Division() != nil
		})
		key := keyOf(leader)
		for _, n := range c.nodes {
			if _, err := take(n, key, 10, 1); err != nil {
				t.Errorf("group %d: %v", g, err)
			}
			for other, x := range all {
				if other == g {
					continue
				}
				foreign := keyOf(x.leader())
				var coded *link.Error
				if _, err := take(n, foreign, 10, 1); !errors.As(err, &coded) || coded.Code() != "ELSEWHERE" {
					t.Errorf("group %d decides on a key of group %d: %v", g, other, err)
				}
				want := x.leader().o.Client
				eventually(t, fmt.Sprintf("group %d knows the leader of group %d", g, other), func() bool {
					address, here := n.Where(slots.Of([]byte(foreign)), false)
					return address == want && !here
				})
			}
		}
		c.waitForAgreement()
	}
	last := all[2]
	before := last.leader()
	eventually(t, "another node leads", func() bool {
		before.Change(Change{Kind: Transfer}, func(error) {})
		return !before.Leads() && last.leader() != before
	})
	follower := all[1].nodes[0]
	foreign := slots.Of([]byte(keyOf(before)))
	eventually(t, "the new leader is known", func() bool {
		address, _ := follower.Where(foreign, true)
		return address == last.leader().o.Client
	})
	o, want := before.o, before.Division().Owned.String()
	last.close(before)
	other := o
	other.Slots = slots.Set{{First: 1, Last: 2}}
	if _, err := Open(other); err == nil || !strings.Contains(err.Error(), "owns the slots "+want) {
		t.Errorf("a group of %s starts with other slots: %v", want, err)
	}
	again := last.open(o)
	last.nodes = append(last.nodes, again)
	if d := again.Division(); d == nil || d.Owned.String() != want {
		t.Errorf("a restarted node has the slots %v before it hears from a leader, want %s", d, want)
	}
}

// The first group gives a slot once, and a group without slots of its own is not founded. A cluster that owns
// all slots gives none.
func TestGroupsGivenOnce(t *testing.T) {
	first := startGroups(t, 1, 1)[0]
	first.leader()
	whole := startCluster(t, 1, keepLeader)
	whole.leader()
	for _, tt := range []struct {
		by    *testCluster
		owned slots.Set
		want  string
	}{
		{whole, slots.Set{{First: 0, Last: 9}}, "this cluster owns all slots"},
		{first, slots.Set{{First: 0, Last: 9}}, "slot 0 belongs to the first group"},
	} {
		c := &testCluster{t: t, peers: freeAddresses(t, 1), logs: first.logs}
		o := c.options(filepath.Join(t.TempDir(), "n"), c.peers[0])
		o.Peers, o.Slots, o.GroupOf = c.peers, tt.owned, tt.by.peers
		n := c.open(o)
		eventually(t, tt.want, func() bool { return strings.Contains(first.logs.String(), tt.want) })
		if n.isMember() {
			t.Errorf("%s, and the group was founded", tt.want)
		}
		c.close(n)
	}
}

// All nodes that found a group have --group-of, or none has it.
func TestGroupsFoundedAlike(t *testing.T) {
	c := &testCluster{t: t, peers: freeAddresses(t, 2), logs: new(testwait.Log)}
	for i, address := range c.peers {
		o := c.options(filepath.Join(t.TempDir(), "n"), address)
		o.Peers, o.Slots = c.peers, slots.Set{{First: 0, Last: 9}}
		if i == 0 {
			o.GroupOf = freeAddresses(t, 1)
		}
		defer c.close(c.open(o))
	}
	eventually(t, "a node tells the difference", func() bool {
		return strings.Contains(c.logs.String(), "only one was started with --group-of")
	})
}

// A node of a divided cluster ends if its options need all slots.
func TestGroupsWhole(t *testing.T) {
	var ended atomic.Int32
	c := startCluster(t, 1, func(o *Options) {
		keepLeader(o)
		o.Slots, o.Whole = slots.Set{{First: 0, Last: 9}}, true
		o.Fatal = func(error) { ended.Add(1) }
	})
	eventually(t, "the node ends", func() bool { return ended.Load() == 1 })
	if _, err := c.nodes[0].answerFront(t.Context(), link.Peer{}, fronts.CallFind, nil); err == nil {
		t.Error("a front is before a divided cluster")
	}
	if err := c.nodes[0].Backup("x", func(string, error) {}); !errors.Is(err, error(errDividedBackup)) {
		t.Errorf("a backup of a divided cluster: %v", err)
	}
}

// A leader refuses a batch of another group's keys that slips by the check of Exec, in Apply.
func TestGroupsApply(t *testing.T) {
	c := startGroups(t, 2, 1)
	n, foreign := c[0].leader(), keyOf(c[1].leader())
	b := &engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Key: []byte(foreign), N: 1,
		Params: engine.Params{Alg: engine.Fixed, Limit: 10, Period: 1e9}}}}
	done := make(chan error, 1)
	n.submit(batch.Request{Request: forward.Request{Batch: b, Done: func(err error) { done <- err }}})
	n.Commit()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case err := <-done:
		if err != nil || b.Decisions[0].Status != engine.Down || n.Engine().Len() != 0 {
			t.Errorf("answered %v, %+v, with %d keys", err, b.Decisions, n.Engine().Len())
		}
	case <-ctx.Done():
		t.Error("no answer")
	}
}
