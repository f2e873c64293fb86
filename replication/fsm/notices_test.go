package fsm

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
)

// A crier publishes the key of each call.
type crier struct{ writer }

func (crier) Do(tx *engine.Tx, c *engine.Call) { tx.Publish([]byte("key"), c.Args[0]) }

// Messages are sent of entries after the entry that completed the node's catch-up, whether
// the node proposed them or not.
func TestMessagesOfLaterEntries(t *testing.T) {
	var sent []string
	notices := new(engine.Notices)
	notices.Handle(func(_, message []byte) { sent = append(sent, string(message)) })
	f := New(Options{Commands: crier{}, Notices: notices, Monotonic: func() time.Duration { return 0 }})
	for index := uint64(1); index <= 6; index++ {
		if index == 3 {
			f.SetCurrent(3)
			f.SetCurrent(6)
		}
		b := &engine.Batch{Level: 1}
		b.AddCall(0).Args = [][]byte{fmt.Append(nil, "k", index), nil}
		var entry persist.Entry
		entry.Append(1e18, b)
		if index%2 == 0 {
			f.Propose(NewProposal(1e18, batchGroup{b}, entry.Bytes(), func() {}))
		}
		f.Apply(&raft.Log{Index: index, Data: entry.Bytes()})
	}
	if want := []string{"k4", "k5", "k6"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}

// Where the log began with the process, messages of all entries are sent, and Published tells their
// entries.
func TestMessagesOfAFoundedCluster(t *testing.T) {
	var sent []string
	var published []uint64
	notices := new(engine.Notices)
	notices.Handle(func(_, message []byte) { sent = append(sent, string(message)) })
	f := New(Options{
		Commands: crier{}, Notices: notices, Monotonic: func() time.Duration { return 0 },
		Published: func(index uint64) { published = append(published, index) },
	})
	f.SetFounded()
	for index := uint64(1); index <= 3; index++ {
		b := &engine.Batch{Level: 1}
		if index != 2 {
			b.AddCall(0).Args = [][]byte{fmt.Append(nil, "k", index), nil}
		} else {
			b.Ops = []engine.Op{{Kind: engine.Forget, Key: []byte("k")}}
		}
		var entry persist.Entry
		entry.Append(1e18, b)
		f.Apply(&raft.Log{Index: index, Data: entry.Bytes()})
	}
	if want := []string{"k1", "k3"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
	if want := []uint64{1, 3}; !slices.Equal(published, want) {
		t.Errorf("entries %d were published, want %d", published, want)
	}
}

// The function of HandleApplied is called at once, at each entry, also before the node has
// caught up, and when a snapshot has replaced the engine, which it then sees.
func TestLooksAtEachState(t *testing.T) {
	var seen []*engine.Engine
	notices := new(engine.Notices)
	f := New(Options{Commands: crier{}, Notices: notices, Monotonic: func() time.Duration { return 0 }})
	notices.HandleApplied(func() { seen = append(seen, f.Engine()) })
	b := &engine.Batch{Level: 1}
	b.AddCall(0).Args = [][]byte{[]byte("k"), nil}
	var entry persist.Entry
	entry.Append(1e18, b)
	f.Apply(&raft.Log{Index: 1, Data: entry.Bytes()})
	before, after := f.Engine(), f.NewEngine()
	f.Set(State{Engine: after, Stamp: 1e18, Index: 2})
	if want := []*engine.Engine{before, before, after}; !slices.Equal(seen, want) {
		t.Errorf("it saw the engines %p, want %p", seen, want)
	}
}
