package raftfix

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"limitsrv/replication/lease"
)

// A Transport is raft's transport over TCP, with workarounds for defects of raft v1.7.3:
//
//   - Raft handles heartbeats outside its main goroutine, and may then take part in two
//     terms at once. Here they are handled like any other request.
//   - Raft accepts every snapshot from the leader of its term, including a snapshot that
//     the network delayed and that lacks entries acknowledged since: it then drops its log,
//     and either panics because entries are missing or has lost them. Here SnapshotStore
//     rejects such a snapshot, which leaves raft's state unchanged. The leader is told that
//     the snapshot was installed, and continues with the next entries; for them the
//     follower reports its own last index.
//   - Requests to a removed node are sent to its address, where another node may listen
//     already. Here they are not sent.
//   - After each failed request to a node raft backs off, up to 10 s. A node that recovers
//     is left out for as long as it was unreachable, and if another node fails meanwhile
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
//   - Raft's pipeline of requests to a follower can deadlock. Here one request is in
//     flight at a time.
//   - Raft's lease counts from the receipt of answers. Its followers vote within the lease when a
//     leader hands its leadership over, or when they start. Here Options.Grants record when
//     requests were sent, and requests that Options.Promise forbids are rejected.
//
// Source of the first: hashicorp/raft, issue 695.
type Transport struct {
	*raft.NetworkTransport
	o           TransportOptions
	raft        atomic.Pointer[raft.Raft] // nil: not started yet
	unreachable unreachablePeers
	acked       ackedEntries
	confirming  confirmingPeers
	screened    chan raft.RPC // see screen
	closed      chan struct{} // closed by Close
	close       sync.Once
	told        atomic.Uint64 // the index of the last TellAll
	// released is the term of the leader that last handed its leadership over to this node. 0: no
	// leader has, or this node began its last election itself.
	released atomic.Uint64
}

// TransportOptions configure a Transport. Concurrency: all functions may be called by any
// goroutine.
type TransportOptions struct {
	Stream  raft.StreamLayer
	Node    string        // id of this node
	Address string        // for other nodes to reach this node
	Timeout time.Duration // bounds the wait for an answer, and for each MB of a snapshot
	Logger  hclog.Logger
	// NodeAt returns the id of the node at an address, "" if it is unknown.
	NodeAt func(address string) string
	// Answered is called with each node that answers a heartbeat.
	Answered func(node string)
	// Promise is the promise of this node. Grants are the acknowledgements that it receives as a
	// leader.
	Promise *lease.Promise
	Grants  *lease.Grants
	// Starting reports whether a request failed because the other node was admitted and
	// has not started raft yet.
	Starting func(failed error) bool
}

const (
	maxPool = 3 // idle connections to each other node
	// maxAppendBytes bounds the bytes sent at once, if they are more than one entry.
	maxAppendBytes = 1 << 20
	// transferScale is the number of snapshot bytes that must arrive within a single
	// timeout.
	transferScale = 1 << 20
)

// NewTransport returns a transport that accepts connections at once. The caller must close
// it, which closes the stream.
func NewTransport(o TransportOptions) *Transport {
	t := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Stream: o.Stream, MaxPool: maxPool, MaxRPCsInFlight: 1, Timeout: o.Timeout, Logger: o.Logger,
	})
	t.TimeoutScale = transferScale
	screening := &Transport{NetworkTransport: t, o: o, screened: make(chan raft.RPC), closed: make(chan struct{})}
	go screening.screen()
	return screening
}

// Close closes the stream. Requests that raft has not received yet get no answer.
func (t *Transport) Close() error {
	t.close.Do(func() { close(t.closed) })
	return t.NetworkTransport.Close()
}

// SetRaft sets the raft that uses the transport, when it has started.
func (t *Transport) SetRaft(r *raft.Raft) { t.raft.Store(r) }

// LocalAddr returns the address for other nodes to reach this node.
func (t *Transport) LocalAddr() raft.ServerAddress { return raft.ServerAddress(t.o.Address) }

// SetHeartbeatHandler does nothing, so that heartbeats take the common path.
func (t *Transport) SetHeartbeatHandler(func(raft.RPC)) {}

// errOldSnapshot is the answer to a snapshot of entries that a node has already applied.
var errOldSnapshot = errors.New("the snapshot has nothing new")

func (t *Transport) check(id raft.ServerID, target raft.ServerAddress) error {
	if node := t.o.NodeAt(string(target)); node != "" && node != string(id) {
		return fmt.Errorf("node %s is now at %s, not node %s", target, node, id)
	}
	return nil
}

// AppendEntries implements [raft.Transport].
func (t *Transport) AppendEntries(id raft.ServerID, target raft.ServerAddress, request *raft.AppendEntriesRequest,
	response *raft.AppendEntriesResponse) error {
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
			t.o.Answered(string(id))
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
		t.tellLate(id, target, request)
	}
	return err
}

// memberStartWait bounds the time until a node that the leader admitted has started raft.
const memberStartWait = 3 * time.Second

// append sends a request, and retries while the other node is about to start raft.
func (t *Transport) append(id raft.ServerID, target raft.ServerAddress, request *raft.AppendEntriesRequest,
	response *raft.AppendEntriesResponse) error {
	for began := time.Now(); ; time.Sleep(memberStartWait / 100) {
		sent := t.o.Grants.Now()
		err := t.NetworkTransport.AppendEntries(id, target, request, response)
		// The node follows this leader, even if it rejected the entries.
		if err == nil && response.Term == request.Term {
			t.o.Grants.Acked(string(id), request.Term, sent)
		}
		if err == nil || !t.o.Starting(err) || time.Since(began) > memberStartWait ||
			!t.leadsMember(id, target, request.Term) {
			return err
		}
	}
}

// upTo returns the first entries, at least one entry, with about most bytes at most.
func upTo(entries []*raft.Log, most int) []*raft.Log {
	for i, e := range entries {
		if most -= entryCost(e); most < 0 && i > 0 {
			return entries[:i]
		}
	}
	return entries
}

// InstallSnapshot implements [raft.Transport].
func (t *Transport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, request *raft.InstallSnapshotRequest,
	response *raft.InstallSnapshotResponse, data io.Reader) error {
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
