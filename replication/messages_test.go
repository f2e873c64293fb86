package replication

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/replication/lease"
)

// criers is counters, which publish their first key.
type criers struct{ counters }

func (c criers) Do(tx *engine.Tx, call *engine.Call) {
	tx.Publish([]byte("cried"), call.Args[0])
	c.counters.Do(tx, call)
}

// heard are the messages that the clients of each node get.
type heard struct {
	mu  sync.Mutex
	all map[string][]string // by the address of the node
}

func (h *heard) at(address string) func(channel, message []byte) {
	return func(channel, message []byte) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.all[address] = append(h.all[address], string(channel)+" "+string(message))
	}
}

func (h *heard) of(n *Node) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all[n.o.Raft])
}

// awaitMembers waits until all nodes have started raft.
func (c *testCluster) awaitMembers() {
	c.t.Helper()
	eventually(c.t, "all nodes are members", func() bool {
		return !slices.ContainsFunc(c.nodes, func(n *Node) bool { return n.stack.Load() == nil })
	})
}

// startSilentCluster starts three nodes without a heartbeat in the time of a test, and returns the node
// that leads.
func startSilentCluster(t *testing.T, change func(*Options)) (c *testCluster, first *Node) {
	c = startCluster(t, 3, func(o *Options) {
		o.Notices, o.ElectionTimeout = new(engine.Notices), time.Hour
		o.lasting = func() time.Duration { return 10_000 * lease.Clock() } // promises from before the start end
		change(o)
	})
	c.awaitMembers()
	first = c.nodes[slices.IndexFunc(c.nodes, func(n *Node) bool { return len(serversOf(n.stack.Load().raft)) == 3 })]
	eventually(t, "the first node leads", func() bool {
		if !first.leadership().elected {
			first.elect(first.stack.Load())
			time.Sleep(100 * time.Millisecond)
		}
		return first.leadership().leading
	})
	return c, first
}

// TestMessagesOfCalls publishes by calls, from the first possible moment of a new cluster on. Each
// node has the messages without a heartbeat.
func TestMessagesOfCalls(t *testing.T) {
	h := &heard{all: map[string][]string{}}
	c, first := startSilentCluster(t, func(o *Options) {
		o.Commands = criers{}
		o.Notices.Handle(h.at(o.Raft))
	})
	var want []string
	for i := range 20 {
		key := fmt.Sprint("k", i)
		eventually(t, "the cluster carries out calls", func() bool {
			_, err := count(first, 0, key)
			return err == nil
		})
		want = append(want, "cried "+key)
		for _, n := range c.nodes {
			eventually(t, fmt.Sprintf("node %s has message %d", n.o.Raft, i), func() bool { return len(h.of(n)) > i })
		}
	}
	for _, n := range c.nodes {
		if got := h.of(n); !slices.Equal(got, want) {
			t.Errorf("node %s has %q, want %q", n.o.Raft, got, want)
		}
	}
}

// TestMessagesReachAllNodes publishes at each node, also without a leader.
func TestMessagesReachAllNodes(t *testing.T) {
	h := &heard{all: map[string][]string{}}
	c := startCluster(t, 3, keepLeader)
	for _, n := range c.nodes {
		n.HandlePublished(h.at(n.o.Raft))
	}
	c.leader()
	c.awaitMembers()
	eventually(t, "all nodes know each other", func() bool {
		return !slices.ContainsFunc(c.nodes, func(n *Node) bool { return len(n.Nodes("")) < 3 })
	})
	const each = 500
	for i := range each {
		for _, n := range c.nodes {
			n.Publish([]byte(n.o.Raft), fmt.Append(nil, i))
		}
	}
	check := func(to *Node, from []*Node, want int) {
		t.Helper()
		eventually(t, "a node has all messages", func() bool { return len(h.of(to)) >= len(from)*want })
		got := h.of(to)
		for _, n := range from {
			for i := range want {
				if one := fmt.Sprintf("%s %d", n.o.Raft, i); len(got) == 0 || !slices.Contains(got, one) {
					t.Fatalf("node %s misses %q", to.o.Raft, one)
				}
			}
		}
		next := map[string]int{}
		for _, one := range got {
			var channel string
			var number int
			fmt.Sscan(one, &channel, &number)
			if number != next[channel] {
				t.Fatalf("node %s got %q, want number %d", to.o.Raft, one, next[channel])
			}
			next[channel]++
		}
	}
	for _, to := range c.nodes {
		var from []*Node
		for _, n := range c.nodes {
			if n != to {
				from = append(from, n)
			}
		}
		check(to, from, each)
	}
	a, b := c.nodes[0], c.nodes[1]
	c.close(c.nodes[2])
	c.close(b)
	if sent := a.Replication().Totals.MessagesSent; sent != 2*each {
		t.Errorf("%d messages were sent, want %d", sent, 2*each)
	}
	eventually(t, "messages to nodes that are away are dropped", func() bool {
		a.Publish([]byte("x"), []byte("y"))
		return a.Replication().Totals.MessagesDropped > 0
	})
}
