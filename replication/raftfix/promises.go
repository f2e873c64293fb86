package raftfix

import (
	"encoding/binary"
	"errors"

	"github.com/hashicorp/raft"
)

// errPromised is the answer to a request to start an election while a promise forbids it.
var errPromised = errors.New("this node has promised its leader to elect no other node yet")

// Consumer returns the channel of the requests that screen passes on to raft.
func (t *Transport) Consumer() <-chan raft.RPC { return t.screened }

// screen passes requests on to raft in order, until the transport is closed. It renews the promise
// of this node, and rejects the requests that the promise forbids.
func (t *Transport) screen() {
	for {
		select {
		case rpc := <-t.NetworkTransport.Consumer():
			if t.refuses(rpc) {
				continue
			}
			select {
			case t.screened <- rpc:
			case <-t.closed:
				return
			}
		case <-t.closed:
			return
		}
	}
}

// refuses answers a request that the promise of this node forbids, and reports whether it did.
func (t *Transport) refuses(rpc raft.RPC) bool {
	var refusal any
	header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(t.o.Node), Addr: []byte(t.o.Address)}
	term := t.currentTerm()
	switch r := rpc.Command.(type) {
	case *raft.AppendEntriesRequest:
		if r.Term >= term { // raft rejects a request of an earlier term
			t.o.Promise.Renew(r.Term)
		}
	case *raft.RequestVoteRequest:
		refusal = &raft.RequestVoteResponse{RPCHeader: header, Term: term}
		//lint:ignore SA1019 raft reads only RPCHeader.Addr, so that this field is free
		if released, _ := handover(r.Candidate); t.o.Promise.Left(released, term) == 0 {
			refusal = nil
		}
	case *raft.RequestPreVoteRequest:
		if t.o.Promise.Left(0, term) > 0 {
			refusal = &raft.RequestPreVoteResponse{RPCHeader: header, Term: term}
		}
	case *raft.TimeoutNowRequest:
		if t.refusesToLead(r, term) {
			rpc.Respond(nil, errPromised)
			return true
		}
	}
	if refusal != nil {
		rpc.Respond(refusal, nil)
	}
	return refusal != nil
}

// refusesToLead reports whether the promise forbids this node to start an election, requested by
// another node or by itself. If not, it records the term of the leader that hands its leadership
// over.
func (t *Transport) refusesToLead(r *raft.TimeoutNowRequest, current uint64) bool {
	released, told := handover(r.Addr)
	if !told && string(r.ID) != t.o.Node {
		// A leader of an earlier version does not send its term, and has no lease.
		released = current
	}
	if t.o.Promise.Left(released, current) > 0 {
		return true
	}
	t.released.Store(released)
	return false
}

// TimeoutNow makes a node start an election. If it is another node, this node hands its leadership
// over, and has no lease for the rest of its term.
func (t *Transport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, request *raft.TimeoutNowRequest,
	response *raft.TimeoutNowResponse) error {
	if string(id) != t.o.Node {
		term := t.currentTerm()
		t.o.Grants.Drop(term)
		telling := *request
		telling.Addr = withHandover(term) // raft v1.7.3 ignores this field
		request = &telling
	}
	return t.NetworkTransport.TimeoutNow(id, target, request, response)
}

// telling returns request. If a leader has handed its leadership over to this node, the result also
// has the term of that leader.
func (t *Transport) telling(request *raft.RequestVoteRequest) *raft.RequestVoteRequest {
	released := t.released.Load()
	if released == 0 || request.Term != released+1 {
		return request
	}
	telling := *request
	//lint:ignore SA1019 raft v1.7.3 reads RPCHeader.Addr in place of this field
	telling.Candidate = withHandover(released)
	return &telling
}

// handoverMark is the first byte of a field that holds the term of a leader instead of an address.
const handoverMark = 0

func withHandover(term uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{handoverMark}, term)
}

// handover returns the term in a field; ok is false if the field has no term.
func handover(field []byte) (term uint64, ok bool) {
	if len(field) != 9 || field[0] != handoverMark {
		return 0, false
	}
	return binary.BigEndian.Uint64(field[1:]), true
}

// currentTerm returns the term of raft; 0: raft has not started.
func (t *Transport) currentTerm() uint64 {
	if r := t.raft.Load(); r != nil {
		return r.CurrentTerm()
	}
	return 0
}

// Voters returns whether this node is a voter, and the ids of the other voters.
func (t *Transport) Voters() (self bool, others []string) {
	r := t.raft.Load()
	if r == nil {
		return false, nil
	}
	for _, s := range r.GetConfiguration().Configuration().Servers {
		switch {
		case s.Suffrage != raft.Voter:
		case string(s.ID) == t.o.Node:
			self = true
		default:
			others = append(others, string(s.ID))
		}
	}
	return self, others
}

// Confirm sends a heartbeat, as the leader of term, to each other voter without a heartbeat of
// Confirm or Tell in flight. Grants record the answers. It replaces raft's VerifyLeader, which in
// v1.7.3 also counts answers to earlier requests: a leader that was paused could confirm itself
// with them.
func (t *Transport) Confirm(term uint64) {
	r := t.raft.Load()
	if r == nil || t.IsShutdown() {
		return
	}
	for _, s := range r.GetConfiguration().Configuration().Servers {
		if s.Suffrage == raft.Voter {
			t.beat(s, term, false)
		}
	}
}

// Tell sends a heartbeat to a member, as the leader of term, to report which entries are committed.
// Raft v1.7.3 reports that only with a later request.
func (t *Transport) Tell(term uint64, node string) {
	r := t.raft.Load()
	if r == nil || t.IsShutdown() {
		return
	}
	for _, s := range r.GetConfiguration().Configuration().Servers {
		if string(s.ID) == node {
			t.beat(s, term, true)
		}
	}
}

// TellAll is Tell for all members. A member that acknowledges the entry at index later gets the
// heartbeat then.
func (t *Transport) TellAll(term, index uint64) {
	r := t.raft.Load()
	if r == nil || t.IsShutdown() {
		return
	}
	t.told.Store(index)
	for _, s := range r.GetConfiguration().Configuration().Servers {
		t.beat(s, term, true)
	}
}

// tellLate sends a member another heartbeat if it has just accepted the entry of the last TellAll,
// in a request that was built before that entry was committed.
func (t *Transport) tellLate(id raft.ServerID, target raft.ServerAddress, request *raft.AppendEntriesRequest) {
	told, n := t.told.Load(), len(request.Entries)
	if n > 0 && request.LeaderCommitIndex < told && told <= request.Entries[n-1].Index {
		t.beat(raft.Server{ID: id, Address: target}, request.Term, true)
	}
}

// beat sends a heartbeat to another member, as the leader of term. If a heartbeat to it is in
// flight, beat sends nothing; with again, another heartbeat follows it.
func (t *Transport) beat(s raft.Server, term uint64, again bool) {
	if string(s.ID) == t.o.Node || !t.confirming.begin(s.ID, again) {
		return
	}
	go func() {
		for again := true; again; again = t.confirming.end(s.ID) {
			request := raft.AppendEntriesRequest{
				RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(t.o.Node),
					Addr: []byte(t.o.Address)},
				Term: term,
			}
			// If it fails, raft's own heartbeats fail too, and raft logs it.
			t.AppendEntries(s.ID, s.Address, &request, new(raft.AppendEntriesResponse))
		}
		t.o.Grants.Wake() // Confirm may send again
	}()
}
