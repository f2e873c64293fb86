package replication

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// steadyTransport is raft's way to other nodes, and keeps from it what raft v1.7.3
// does wrong:
//
//   - It handles heartbeats beside its main goroutine, and may then take part in two
//     terms at once. Here they are requests as any other.
//   - It takes every snapshot from the leader of its term, also one that the network
//     has held up and that lacks what has been acknowledged since: it drops its log for
//     that, and then panics for want of it, or has lost it. Here sinkWatched refuses to
//     store such a snapshot, which leaves raft as it was. To the leader that is as good
//     as taken: it goes on with what follows, of which the other tells what it has.
//   - What it still has for a node that was removed it sends to that node's address,
//     where by now there may be one with another id. Here it is not sent.
//   - After each failure to send entries to a node it rests for longer, up to 10 s. A
//     node that is back takes no part for as long as it was away, and when another one
//     fails meanwhile there is no majority. Here entries wait for an answer to a
//     heartbeat instead, which is tried at least every half election timeout.
//   - It bounds how many entries it sends at once, and not their bytes: 64 transactions
//     of 16 MB take their receiver gigabytes, never arrive in time, and are all sent again.
//     Here what is beyond maxAppendBytes goes with the next.
//   - It asks each node for its vote once, over a link that may have ended long ago. Two of
//     three nodes then split their votes, and rest. Here such a link is replaced.
//   - It tells commits beside heartbeats, several times as often, also where nothing is
//     decided. Here a heartbeat tells them, up to the last entry that the other node took.
//
// Source of the first: hashicorp/raft, issue 695.
type patchedTransport struct {
	*raft.NetworkTransport
	address  raft.ServerAddress          // at which others reach this node
	nodeAt   func(address string) string // the id there, empty if that is not known
	raft     atomic.Pointer[raft.Raft]   // nil: not made yet
	answered func(node string)           // called with each node that answers a heartbeat
	unreachable unreachablePeers
	acked    ackedEntries
}

func newPatchedTransport(t *raft.NetworkTransport, address string, nodeAt func(string) string) *patchedTransport {
	return &patchedTransport{NetworkTransport: t, address: raft.ServerAddress(address), nodeAt: nodeAt, answered: func(string) {}}
}

// LocalAddr is the address at which others reach this node.
func (t *patchedTransport) LocalAddr() raft.ServerAddress { return t.address }

// SetHeartbeatHandler does nothing.
func (t *patchedTransport) SetHeartbeatHandler(func(raft.RPC)) {}

// errOldSnapshot is the answer to a snapshot of what a node has carried out already.
var errOldSnapshot = errors.New("the snapshot has nothing new")

func (t *patchedTransport) check(id raft.ServerID, target raft.ServerAddress) error {
	if node := t.nodeAt(string(target)); node != "" && node != string(id) {
		return fmt.Errorf("at %s is node %s now, not %s", target, node, id)
	}
	return nil
}

func (t *patchedTransport) AppendEntries(id raft.ServerID, target raft.ServerAddress, request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) error {
	if err := t.check(id, target); err != nil {
		return err
	}
	if isHeartbeat(request) {
		if r := t.raft.Load(); r != nil {
			request = t.acked.withCommit(id, request, r.CommitIndex())
		}
		err := t.append(id, target, request, response)
		if err == nil {
			t.unreachable.markReachable(id)
			t.answered(string(id))
		}
		return err
	}
	t.unreachable.waitReachable(id, func() bool { return t.leads(id, target, request.Term) })
	if slices.ContainsFunc(request.Entries, func(e *raft.Log) bool { return e.Type == snapshotEnd }) {
		return raft.ErrLogNotFound // read while this node led no more
	}
	request.Entries = upTo(request.Entries, maxAppendBytes) // from which raft sees what was sent
	err := t.append(id, target, request, response)
	t.unreachable.recordSend(id, err)
	if err == nil && response.Success {
		t.acked.record(id, request)
	}
	return err
}

// seatWait is how long a node may take to its seat once the leader has admitted it.
const memberStartWait = 3 * time.Second

// append waits for a node that is about to take its seat.
func (t *patchedTransport) append(id raft.ServerID, target raft.ServerAddress, request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) error {
	for began := time.Now(); ; time.Sleep(memberStartWait / 100) {
		err := t.NetworkTransport.AppendEntries(id, target, request, response)
		if err == nil || !strings.Contains(err.Error(), notYet) || time.Since(began) > memberStartWait || !t.leads(id, target, request.Term) {
			return err
		}
	}
}

// upTo are the first of entries, at least one, with about so many bytes at most.
func upTo(entries []*raft.Log, most int) []*raft.Log {
	for i, e := range entries {
		if most -= entryCost(e); most < 0 && i > 0 {
			return entries[:i]
		}
	}
	return entries
}

func (t *patchedTransport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, request *raft.InstallSnapshotRequest, response *raft.InstallSnapshotResponse, data io.Reader) error {
	if err := t.check(id, target); err != nil {
		return err
	}
	t.unreachable.waitReachable(id, func() bool { return t.leads(id, target, request.Term) })
	err := t.NetworkTransport.InstallSnapshot(id, target, request, response, data)
	if err != nil && err.Error() == errOldSnapshot.Error() { // an error arrives as its text
		response.Success, err = true, nil
	}
	t.unreachable.recordSend(id, err)
	return err
}
