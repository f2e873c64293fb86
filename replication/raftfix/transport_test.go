package raftfix

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/raft"
)

// Requests go from a transport to another on a node that has applied entry 10 and has no
// room for earlier entries.
func TestTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newPipeNet(t)
		gone := make(chan struct{})
		defer close(gone)
		var ends [2]*Transport
		for i, address := range []string{"a:1", "b:1"} {
			ends[i] = n.transport(t, address)
		}
		data := strings.Repeat("state", 100_000) // more than a connection holds
		var asked, beats atomic.Int32
		ends[1].SetHeartbeatHandler(func(raft.RPC) { beats.Add(1) })
		go func() {
			for {
				select {
				case rpc := <-ends[1].Consumer():
					asked.Add(1)
					switch r := rpc.Command.(type) {
					case *raft.RequestVoteRequest:
						rpc.Respond(&raft.RequestVoteResponse{Granted: true}, nil)
					case *raft.RequestPreVoteRequest:
						rpc.Respond(&raft.RequestPreVoteResponse{Granted: true}, nil)
					case *raft.AppendEntriesRequest:
						rpc.Respond(&raft.AppendEntriesResponse{Success: true}, nil)
					case *raft.InstallSnapshotRequest:
						got, err := io.ReadAll(rpc.Reader)
						switch {
						case r.LastLogIndex < 10:
							got, err = nil, errors.New("no room")
						case r.LastLogIndex == 10:
							got, err = nil, errOldSnapshot
						}
						rpc.Respond(&raft.InstallSnapshotResponse{Success: string(got) == data}, err)
					}
				case <-gone:
					return
				}
			}
		}()
		heartbeat := &raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{Addr: []byte("a:1")}, Term: 1}
		snapshot := func(last uint64) *raft.InstallSnapshotRequest {
			return &raft.InstallSnapshotRequest{Term: 1, LastLogIndex: last, Size: int64(len(data))}
		}
		entries := func(to raft.ServerID) (bool, error) {
			var r raft.AppendEntriesResponse
			err := ends[0].AppendEntries(to, "b:1", heartbeat, &r)
			return r.Success, err
		}
		state := func(to raft.ServerID, last uint64) (bool, error) {
			var r raft.InstallSnapshotResponse
			err := ends[0].InstallSnapshot(to, "b:1", snapshot(last), &r, strings.NewReader(data))
			return r.Success, err
		}
		vote := func() (bool, error) {
			n.reset() // all links are idle, and break
			var r raft.RequestVoteResponse
			err := ends[0].RequestVote("b1", "b:1", &raft.RequestVoteRequest{Term: 2}, &r)
			return r.Granted, err
		}
		preVote := func() (bool, error) {
			n.reset()
			var r raft.RequestPreVoteResponse
			err := ends[0].RequestPreVote("b1", "b:1", &raft.RequestPreVoteRequest{Term: 2}, &r)
			return r.Granted, err
		}
		for _, tt := range []struct {
			name    string
			node    string // known at the address
			send    func() (bool, error)
			reaches bool
			refused bool
		}{
			{"a heartbeat", "", func() (bool, error) { return entries("b1") }, true, false},
			{"to the node at the address", "b1", func() (bool, error) { return entries("b1") }, true, false},
			{"to the former node at the address", "b2", func() (bool, error) { return entries("b1") }, false, true},
			{"a snapshot", "b1", func() (bool, error) { return state("b1", 11) }, true, false},
			{"a snapshot to the former node", "b2", func() (bool, error) { return state("b1", 11) }, false, true},
			{"a snapshot with nothing new", "b1", func() (bool, error) { return state("b1", 10) }, true, false},
			{"a snapshot that can't be stored", "b1", func() (bool, error) { return state("b1", 9) }, true, true},
			{"a heartbeat after that", "b1", func() (bool, error) { return entries("b1") }, true, false},
			{"a vote where links have broken", "b1", vote, true, false},
			{"a word on a vote where links have broken", "b1", preVote, true, false},
			{"another snapshot", "b1", func() (bool, error) { return state("b1", 12) }, true, false},
		} {
			n.nodes["b:1"] = tt.node
			before := asked.Load()
			success, err := tt.send()
			if reached := asked.Load() > before; reached != tt.reaches || success == tt.refused || (err != nil) != tt.refused {
				t.Errorf("%s: reached raft %v, success %v, %v; want %v, %v", tt.name, reached, success, err, tt.reaches,
					!tt.refused)
			}
		}
		n.nodes["b:1"] = "b1"
		long := *heartbeat
		long.Entries = []*raft.Log{{Data: make([]byte, maxAppendBytes)}, {Data: make([]byte, 1)}}
		if err := ends[0].AppendEntries("b1", "b:1", &long, new(raft.AppendEntriesResponse)); err != nil ||
			len(long.Entries) != 1 {
			t.Errorf("two entries of more than %d bytes: %d were sent, %v, want 1", maxAppendBytes, len(long.Entries), err)
		}
		if beats.Load() > 0 {
			t.Errorf("%d heartbeats went to the handler", beats.Load())
		}
	})
}

// A node catches up on entries with too many bytes for a request.
func TestAppendsAreBounded(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sizes []int
		want  int
	}{
		{"of nothing it sends nothing", nil, 0},
		{"small ones go together", []int{1, 2, 3}, 3},
		{"those that are too much wait", []int{maxAppendBytes / 2, maxAppendBytes / 3, maxAppendBytes / 3}, 2},
		{"one that is too much goes by itself", []int{2 * maxAppendBytes, 1}, 1},
		{"one that is too much waits", []int{1, 2 * maxAppendBytes}, 1},
	} {
		var all []*raft.Log
		for _, size := range tt.sizes {
			all = append(all, &raft.Log{Data: make([]byte, size)})
		}
		if got := len(upTo(all, maxAppendBytes)); got != tt.want {
			t.Errorf("%s: %d of %d entries, want %d", tt.name, got, len(all), tt.want)
		}
	}
}
