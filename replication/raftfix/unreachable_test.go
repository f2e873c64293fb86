package raftfix

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// Entries for a node that does not answer are sent again after it answers a heartbeat,
// neither before that nor after a backoff.
func TestTransportWaitsForHeartbeat(t *testing.T) {
	n := newPipeNet(t)
	from, to := n.transport(t, "a"), n.transport(t, "b")
	go func() {
		for rpc := range to.Consumer() {
			rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
		}
	}()
	send := func(r raft.AppendEntriesRequest) error {
		return from.AppendEntries("b", "b", &r, new(raft.AppendEntriesResponse))
	}
	heartbeat, entries := raft.AppendEntriesRequest{Term: 1}, raft.AppendEntriesRequest{Term: 1, PrevLogEntry: 1}
	n.setDown(true)
	if send(entries) == nil {
		t.Fatal("a node that is down took entries")
	}
	sent := make(chan error, 1)
	go func() { sent <- send(entries) }()
	for range 3 {
		if send(heartbeat) == nil {
			t.Fatal("a node that is down answered a heartbeat")
		}
	}
	time.Sleep(3 * reachablePoll) // no event signals that nothing happens
	if dials := n.dials.Load(); dials != 4 {
		t.Fatalf("%d dials, want one for entries and one for each of 3 heartbeats", dials)
	}
	n.setDown(false)
	if err := send(heartbeat); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Errorf("entries after a heartbeat: %v", err)
	}
}

// Entries for a node that does not answer fail when the sender's transport is closed.
func TestTransportGivesUp(t *testing.T) {
	n := newPipeNet(t)
	from := n.transport(t, "a")
	n.setDown(true)
	send := func() error {
		return from.AppendEntries("b", "b", &raft.AppendEntriesRequest{Term: 1, PrevLogEntry: 1},
			new(raft.AppendEntriesResponse))
	}
	if send() == nil {
		t.Fatal("no node accepted entries")
	}
	sent := make(chan error, 1)
	go func() { sent <- send() }()
	from.Close()
	if err := <-sent; err == nil {
		t.Error("no node accepted entries after the end")
	}
}
