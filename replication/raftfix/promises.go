package raftfix

import (
	"encoding/binary"
	"errors"

	"github.com/hashicorp/raft"
)

// errPromised is the answer to a request to start an election that a promise forbids.
var errPromised = errors.New("this node has promised its leader to elect no other node yet")

// Consumer returns the requests that raft may handle.
func (t *Transport) Consumer() <-chan raft.RPC { return t.screened }

// screen passes requests on to raft, in their order, until the transport is closed. It renews the
// promise of this node, and refuses requests that the promise forbids.
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

// refuses answers a request that the promise of this node forbids.
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

// refusesToLead reports whether the promise forbids an election of this node, which another node
// or this one requests. It notes the term of a leader that hands its leadership over.
func (t *Transport) refusesToLead(r *raft.TimeoutNowRequest, current uint64) bool {
	released, told := handover(r.Addr)
	if !told && string(r.ID) != t.o.Node {
		released = current // a leader of an earlier version does not tell its term, and has no lease
	}
	if t.o.Promise.Left(released, current) > 0 {
		return true
	}
	t.released.Store(released)
	return false
}

// TimeoutNow makes a node start an election. To another node it hands the leadership over, so
// this one has no lease from then on in its term.
func (t *Transport) TimeoutNow(id raft.ServerID, target raft.ServerAddress, request *raft.TimeoutNowRequest, response *raft.TimeoutNowResponse) error {
	if string(id) != t.o.Node {
		term := t.currentTerm()
		t.o.Grants.Drop(term)
		telling := *request
		telling.Addr = withHandover(term) // raft v1.7.3 does not read it
		request = &telling
	}
	return t.NetworkTransport.TimeoutNow(id, target, request, response)
}

// telling returns a request for a vote that tells, if a leader has handed its leadership over to
// this node, the term of that leader.
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

// handoverMark is the first byte of a field that has the term of a leader in place of an address.
const handoverMark = 0

func withHandover(term uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{handoverMark}, term)
}

// handover returns the term in a field; ok is false if there is none.
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

// Confirm sends a heartbeat to each other voter to which Confirm sends none at the moment, as the
// leader of a term. Grants get the answers. Raft v1.7.3 counts answers to earlier requests in
// VerifyLeader, so a leader that was paused could confirm itself by these.
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

// Tell sends a heartbeat to a member as the leader of a term, so that the member learns which of
// its entries are committed. Raft v1.7.3 tells that with a later request only.
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

// TellAll is Tell for all members. A member that has not acknowledged the entry at an index yet is
// told when it does.
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

// tellLate tells a member that has accepted a request, built before the commit of the entry of the
// last TellAll, that the entry is committed.
func (t *Transport) tellLate(id raft.ServerID, target raft.ServerAddress, request *raft.AppendEntriesRequest) {
	told, n := t.told.Load(), len(request.Entries)
	if n > 0 && request.LeaderCommitIndex < told && told <= request.Entries[n-1].Index {
		t.beat(raft.Server{ID: id, Address: target}, request.Term, true)
	}
}

// beat sends a heartbeat of the leader of a term to another member. If one is on its way, it sends
// another one afterwards if again is set, and else nothing.
func (t *Transport) beat(s raft.Server, term uint64, again bool) {
	if string(s.ID) == t.o.Node || !t.confirming.begin(s.ID, again) {
		return
	}
	go func() {
		for again := true; again; again = t.confirming.end(s.ID) {
			request := raft.AppendEntriesRequest{
				RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: []byte(t.o.Node), Addr: []byte(t.o.Address)},
				Term:      term,
			}
			// If it fails, raft's own heartbeats fail too, and are logged.
			t.AppendEntries(s.ID, s.Address, &request, new(raft.AppendEntriesResponse))
		}
		t.o.Grants.Wake() // another round may begin
	}()
}
