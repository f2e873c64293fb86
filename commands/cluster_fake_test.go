package commands

import (
	"context"
	"errors"
	"strings"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/engine"
	"limitsrv/engine/slots"
	"limitsrv/internal/status"
)

// fakeNodeID is an id of forty equal digits.
func fakeNodeID(digit string) string { return strings.Repeat(digit, 40) }

// A fakeCluster has three nodes, a, b and c, and is seen from a; c is no voter and
// offline. Changes and waits end when the test ends them.
type fakeCluster struct {
	enabled bool
	pair    bool // without c
	mute    int  // number of nodes, from the first on, without an address for clients
	moved   string
	groups  []backend.Group                       // nil: one group
	older   func(b *engine.Batch, from int) error // unless nil, some node is older, and this is Loggable
	r       status.Replication
	leads   string // digit of the leader's id; empty: no leader is known

	review func(b *engine.Batch, done func(error)) func(error)

	published []string                      // channels and messages for the other nodes
	deliver   func(channel, message []byte) // of the other nodes

	changes  []backend.Change
	rejected error // by Change
	ended    func(error)
	waits    []wantedReplicas
	counted  func(int)
	givenUp  chan func(int) // done of a WAIT with an ended context
}

type wantedReplicas struct {
	replicas int
	timeout  time.Duration
}

// newFakeCluster returns a cluster. Its node a has the role.
func newFakeCluster(role status.Role) *fakeCluster {
	c := &fakeCluster{givenUp: make(chan func(int), 9), r: status.Replication{
		Role: role, ClusterID: fakeNodeID("9"), HasQuorum: true,
		Term: 7, FirstIndex: 11, LastIndex: 110, CommitIndex: 109, AppliedIndex: 108,
		LastContact: 2500 * time.Millisecond, FeatureLevel: 1, Ack: "disk", Fsync: "always", NoQuorum: "error",
		Links: "secret", FsyncP99: 1500 * time.Microsecond,
		Totals: status.Totals{Entries: 1, EntryBytes: 2, Decisions: 3, Forwarded: 4, Uncertain: 5, NoQuorum: 6, Local: 7,
			Elections: 8, LeaderChanges: 9, Refused: 16, Restarts: 17, RefusedLinks: 18, MessagesSent: 19, MessagesDropped: 20},
		Clock:    status.Clock{Offset: -10 * time.Millisecond, Clamps: 11, Clamped: 12 * time.Second},
		Snapshot: status.ReplicatedSnapshot{Index: 13, Bytes: 14, Installed: 15},
	}}
	switch role {
	case status.Leader:
		c.leads, c.r.LastContact = "a", 0
	case status.Candidate:
		c.r.HasQuorum, c.r.LastContact = false, 90*time.Second
	default:
		c.leads = "b"
	}
	return c
}

func (c *fakeCluster) Enabled() bool { return c.enabled }
func (c *fakeCluster) Leads() bool   { return c.moved == "" }
func (c *fakeCluster) Where(slot slots.Slot, stale bool) (address string, here bool) {
	if c.groups != nil {
		return c.moved, c.groups[0].Slots.Has(slot)
	}
	return c.moved, stale || c.moved == ""
}
func (c *fakeCluster) Divided() bool { return c.groups != nil }
func (c *fakeCluster) Groups(local string) []backend.Group {
	if c.groups != nil {
		return c.groups
	}
	return backend.WholeOf(c.Nodes(local), c.r.Term)
}
func (c *fakeCluster) Features() uint8 {
	if c.older != nil {
		return 1
	}
	return 0
}
func (c *fakeCluster) Loggable(b *engine.Batch, from int) error {
	if c.older == nil {
		return nil
	}
	return c.older(b, from)
}
func (c *fakeCluster) HandleForwarded(review func(*engine.Batch, func(error)) func(error)) {
	c.review = review
}
func (c *fakeCluster) HandleAsked(func(context.Context, backend.Asked) ([][]byte, error)) {}

func (c *fakeCluster) Fresh(done func(error))          { done(nil) }
func (c *fakeCluster) Replication() status.Replication { return c.r }

func (c *fakeCluster) Publish(channel, message []byte) {
	c.published = append(c.published, string(channel)+" "+string(message))
}
func (c *fakeCluster) HandlePublished(deliver func(channel, message []byte)) { c.deliver = deliver }

// Digest is small, to show that leading zeros are printed.
func (c *fakeCluster) Digest() (index, digest uint64) { return c.r.AppliedIndex, 0xabc }

func (c *fakeCluster) Nodes(string) []status.Node {
	nodes := []status.Node{
		{ID: fakeNodeID("a"), Port: 7001, Voter: true, Online: true, Raft: "10.0.0.1:8001", Version: "1.0", Index: 110},
		{ID: fakeNodeID("b"), Port: 7002, Voter: true, Online: true, Raft: "10.0.0.2:8002", Version: "1.0", Index: 100,
			LastContact: 1500 * time.Millisecond, ClockOffset: -2500 * time.Millisecond, ClockKnown: true},
		{ID: fakeNodeID("c"), Port: 7003, Raft: "10.0.0.3:8003", Version: "0.9", LastContact: -1},
	}
	for i := range nodes {
		n := &nodes[i]
		n.Host = "10.0.0." + string('1'+rune(i))
		if i < c.mute {
			n.Host, n.Port = "", 0
		}
		n.Leader = c.leads != "" && strings.HasPrefix(n.ID, c.leads)
	}
	if c.pair {
		return nodes[:2]
	}
	return nodes
}

func (c *fakeCluster) Change(change backend.Change, done func(error)) error {
	if c.rejected != nil {
		return c.rejected
	}
	c.changes, c.ended = append(c.changes, change), done
	return nil
}

func (c *fakeCluster) Wait(ctx context.Context, replicas int, timeout time.Duration, done func(int)) {
	c.waits = append(c.waits, wantedReplicas{replicas, timeout})
	if replicas == 0 {
		done(1)
		return
	}
	c.counted = done
	context.AfterFunc(ctx, func() { c.givenUp <- done })
}

// end completes the pending change, with an error if failure is not empty.
func (c *fakeCluster) end(failure string) {
	var err error
	if failure != "" {
		err = errors.New(failure)
	}
	ended := c.ended
	c.ended = nil
	ended(err)
}
