package raftfix

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/replication/lease"
)

// A node that has promised its leader to elect no other refuses requests for votes and elections,
// and raft does not see these; except when that leader has handed over.
func TestPromiseRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		n := newPipeNet(t)
		asks, votes := n.transport(t, "a:1"), n.transport(t, "b:1")
		asks.o.Node, votes.o.Node = "a1", "b1"
		const length = 400 * time.Millisecond
		votes.o.Promise = lease.NewPromise(func() time.Duration { return time.Since(began) }, length)
		gone := make(chan struct{})
		defer close(gone)
		go func() {
			for {
				select {
				case rpc := <-votes.Consumer():
					switch rpc.Command.(type) {
					case *raft.RequestVoteRequest:
						rpc.Respond(&raft.RequestVoteResponse{Granted: true}, nil)
					case *raft.RequestPreVoteRequest:
						rpc.Respond(&raft.RequestPreVoteResponse{Granted: true}, nil)
					case *raft.TimeoutNowRequest:
						rpc.Respond(&raft.TimeoutNowResponse{}, nil)
					default:
						rpc.Respond(&raft.AppendEntriesResponse{Term: 5, Success: true}, nil)
					}
				case <-gone:
					return
				}
			}
		}()
		header := raft.RPCHeader{ID: []byte("a1"), Addr: []byte("a:1")}
		vote := func(released uint64) bool {
			r := raft.RequestVoteRequest{RPCHeader: header, Term: released + 1, LeadershipTransfer: true}
			asks.released.Store(released)
			var answer raft.RequestVoteResponse
			if err := asks.RequestVote("b1", "b:1", &r, &answer); err != nil {
				t.Fatal(err)
			}
			return answer.Granted
		}
		preVote := func(uint64) bool {
			var answer raft.RequestPreVoteResponse
			if err := asks.RequestPreVote("b1", "b:1", &raft.RequestPreVoteRequest{RPCHeader: header, Term: 6},
				&answer); err != nil {
				t.Fatal(err)
			}
			return answer.Granted
		}
		lead := func(released uint64) bool {
			request := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ID: []byte("a1"), Addr: withHandover(released)}}
			return asks.NetworkTransport.TimeoutNow("b1", "b:1", request, new(raft.TimeoutNowResponse)) == nil
		}
		elect := func(uint64) bool {
			request := &raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ID: []byte("b1"), Addr: []byte("b:1")}}
			return asks.NetworkTransport.TimeoutNow("b1", "b:1", request, new(raft.TimeoutNowResponse)) == nil
		}
		heartbeat := func() {
			request := &raft.AppendEntriesRequest{RPCHeader: header, Term: 5}
			if err := asks.AppendEntries("b1", "b:1", request, new(raft.AppendEntriesResponse)); err != nil {
				t.Fatal(err)
			}
		}
		all := map[string]func(released uint64) bool{"a vote": vote, "a pre-vote": preVote, "to lead": lead,
			"an election of its own": elect}
		check := func(when string, released uint64, want map[string]bool) {
			t.Helper()
			for name, ask := range all {
				if got := ask(released); got != want[name] {
					t.Errorf("%s, after a leader of term %d handed over: %s is granted: %v, want %v", when, released, name, got,
						want[name])
				}
			}
		}
		everything := map[string]bool{"a vote": true, "a pre-vote": true, "to lead": true, "an election of its own": true}
		check("at the start", 0, nil)
		time.Sleep(length)
		check("after the promise of the start", 0, everything)
		heartbeat()
		check("after a heartbeat", 0, nil)
		check("after a heartbeat", 4, nil)
		check("after a heartbeat", 5, map[string]bool{"a vote": true, "to lead": true})
		time.Sleep(length - time.Millisecond)
		check("just before the end", 0, nil)
		time.Sleep(time.Millisecond)
		check("at the end", 0, everything)
	})
}
