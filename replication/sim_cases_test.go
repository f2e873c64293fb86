package replication

import (
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// simCase runs a cluster of three through one case, without other troubles.
func simCase(t *testing.T, do func(t *testing.T, c *simCluster)) {
	synctest.Test(t, func(t *testing.T) {
		c := newSimCluster(simPlan{
			seed: 1, election: defaultElectionTimeout, logBytes: 64 << 10, quietGap: time.Second, busyGap: time.Second,
		})
		c.begin()
		do(t, c)
		said := c.logs.last()
		for _, fault := range c.end() {
			t.Error(fault)
		}
		if t.Failed() {
			t.Logf("the nodes said last:\n%s", said)
		}
	})
}

// TestSimJoinFails has a node join whose disk fails at some write: it ends, does not
// ask again and again, and is a member when it has been started again.
func TestSimJoinFails(t *testing.T) {
	for writes := 0; writes < 40; writes += 3 {
		simCase(t, func(t *testing.T, c *simCluster) {
			n := c.addNode()
			n.broken = true
			n.disk.fault.failWrites(writes, syscall.EIO)
			n.start()
			time.Sleep(10 * time.Second)
			if joins := c.logs.count("a node joins the cluster"); joins > 1 {
				t.Errorf("with a disk that fails after %d writes the node joined %d times", writes, joins)
			}
			c.settle("a join that failed")
		})
	}
}

// TestSimOldSnapshot sends a follower, as its leader, a snapshot of what the follower
// has carried out: the leader hears that it is taken, and the follower stays as it is.
func TestSimOldSnapshot(t *testing.T) {
	simCase(t, func(t *testing.T, c *simCluster) {
		leader := c.leader().running().node.seat.Load()
		if err := leader.raft.Snapshot().Error(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // clients ask
		c.settle("some calls")
		all, err := leader.snapshots.List()
		if err != nil || len(all) != 1 {
			t.Fatalf("the leader has %d snapshots, %v", len(all), err)
		}
		c.withFollower(func(n *simNode) {
			follower := n.running().node.seat.Load()
			first, _ := follower.logs.FirstIndex()
			index := follower.raft.AppliedIndex()
			for _, last := range []uint64{all[0].Index, index} {
				meta, from, err := leader.snapshots.Open(all[0].ID)
				if err != nil {
					t.Fatal(err)
				}
				r, err := sendSnapshot(leader, follower, last, meta, from)
				if !r.Success || r.Term != leader.raft.CurrentTerm() || err != nil {
					t.Errorf("of entry %d: success %v in term %d, %v", last, r.Success, r.Term, err)
				}
				after, _ := follower.logs.FirstIndex()
				kept, err := follower.snapshots.List()
				if after != first || follower.raft.AppliedIndex() < index || len(kept) > 0 || err != nil {
					t.Errorf("of entry %d: the follower's log began at %d and does at %d, it had carried out %d and has %d, and keeps %d snapshots, %v",
						last, first, after, index, follower.raft.AppliedIndex(), len(kept), err)
				}
			}
		})
		c.setClients(true, false)
		time.Sleep(10 * time.Second)
		c.settle("the snapshots")
	})
}

// sendSnapshot sends a snapshot up to an entry as the leader would.
func sendSnapshot(leader, follower *seat, last uint64, meta *raft.SnapshotMeta, data io.Reader) (r raft.InstallSnapshotResponse, err error) {
	t := newSteadyTransport(leader.transport, "", func(string) string { return "" })
	self, id := leader.raft.LeaderWithID()
	err = t.InstallSnapshot("", follower.transport.LocalAddr(), &raft.InstallSnapshotRequest{
		RPCHeader:       raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(id), Addr: []byte(self)},
		SnapshotVersion: meta.Version, Term: leader.raft.CurrentTerm(), LastLogIndex: last, LastLogTerm: meta.Term, Size: meta.Size,
		Configuration: raft.EncodeConfiguration(meta.Configuration), ConfigurationIndex: meta.ConfigurationIndex,
	}, &r, data)
	return r, err
}
