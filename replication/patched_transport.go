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

// A patchedTransport is raft's transport, with workarounds for defects of raft v1.7.3:
//
//   - Raft handles heartbeats outside its main goroutine, and may then take part in two
//     terms at once. Here they are handled like any other request.
//   - Raft accepts every snapshot from the leader of its term, including one that the
//     network delayed and that lacks entries acknowledged since: it then drops its log,
//     and either panics because entries are missing or has lost them. Here timedSink
//     rejects such a snapshot, which leaves raft's state unchanged. The leader is told
//     that the snapshot was installed, and continues with the next entries, for which the
//     follower reports its own last index.
//   - Requests to a removed node are sent to its address, where another node may listen
//     already. Here they are not sent.
//   - After each failed request to a node raft backs off, up to 10 s. A node that recovers
//     is left out for as long as it was unreachable, and if another one fails meanwhile
//     there is no majority. Here entries wait for an answer to a heartbeat instead, which
//     is sent at least every half election timeout.
//   - Raft bounds the number of entries per request, but not their bytes: 64 transactions
//     of 16 MB take gigabytes at the receiver, never arrive in time, and are all sent
//     again. Here entries beyond maxAppendBytes go into the next request.
//   - Raft asks each node for its vote once, over a link that may have ended long ago. Two
//     of three nodes then split their votes, and back off. Here such a link is replaced.
//   - Raft sends commits in separate requests, several times as often as heartbeats, also
//     while nothing is decided. Here heartbeats carry the commit index, up to the last
//     entry that the follower acknowledged.
//
// Source of the first: hashicorp/raft, issue 695.
type patchedTransport struct {
	*raft.NetworkTransport
	address     raft.ServerAddress          // at which other nodes reach this one
	nodeAt      func(address string) string // the node's id, "" if unknown
	raft        atomic.Pointer[raft.Raft]   // nil: not started yet
	answered    func(node string)           // called with each node that answers a heartbeat
	unreachable unreachablePeers
	acked       ackedEntries
}

func newPatchedTransport(t *raft.NetworkTransport, address string, nodeAt func(string) string) *patchedTransport {
	return &patchedTransport{NetworkTransport: t, address: raft.ServerAddress(address), nodeAt: nodeAt, answered: func(string) {}}
}

// LocalAddr returns the address at which other nodes reach this one.
func (t *patchedTransport) LocalAddr() raft.ServerAddress { return t.address }

// SetHeartbeatHandler does nothing, so that heartbeats take the common path.
func (t *patchedTransport) SetHeartbeatHandler(func(raft.RPC)) {}

// errOldSnapshot is the answer to a snapshot of entries that a node has already applied.
var errOldSnapshot = errors.New("the snapshot has nothing new")

func (t *patchedTransport) check(id raft.ServerID, target raft.ServerAddress) error {
	if node := t.nodeAt(string(target)); node != "" && node != string(id) {
		return fmt.Errorf("node %s is now at %s, not node %s", target, node, id)
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
	t.unreachable.waitReachable(id, func() bool { return t.leadsMember(id, target, request.Term) })
	if slices.ContainsFunc(request.Entries, func(e *raft.Log) bool { return e.Type == snapshotEnd }) {
		return raft.ErrLogNotFound // it was read after this node lost leadership
	}
	request.Entries = upTo(request.Entries, maxAppendBytes) // raft derives the next index from it
	err := t.append(id, target, request, response)
	t.unreachable.recordSend(id, err)
	if err == nil && response.Success {
		t.acked.record(id, request)
	}
	return err
}

// memberStartWait bounds the time for which a node that the leader admitted may start
// raft.
const memberStartWait = 3 * time.Second

// append sends a request, and retries while the other node is about to start raft.
func (t *patchedTransport) append(id raft.ServerID, target raft.ServerAddress, request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) error {
	for began := time.Now(); ; time.Sleep(memberStartWait / 100) {
		err := t.NetworkTransport.AppendEntries(id, target, request, response)
		if err == nil || !strings.Contains(err.Error(), notYet) || time.Since(began) > memberStartWait || !t.leadsMember(id, target, request.Term) {
			return err
		}
	}
}

// upTo returns the first entries, at least one, with at most about most bytes.
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
	t.unreachable.waitReachable(id, func() bool { return t.leadsMember(id, target, request.Term) })
	err := t.NetworkTransport.InstallSnapshot(id, target, request, response, data)
	if err != nil && err.Error() == errOldSnapshot.Error() { // an error arrives as its text
		response.Success, err = true, nil
	}
	t.unreachable.recordSend(id, err)
	return err
}
