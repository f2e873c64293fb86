package raftfix

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
)

// countingLogs counts reads, and makes stores fail or block.
type countingLogs struct {
	*raft.InmemStore
	reads   int
	err     error
	storing chan chan struct{} // nil: do not block
}

func (c *countingLogs) GetLog(index uint64, to *raft.Log) error {
	c.reads++
	return c.InmemStore.GetLog(index, to)
}

func (c *countingLogs) StoreLogs(entries []*raft.Log) error {
	if c.storing != nil {
		wait := make(chan struct{})
		c.storing <- wait
		<-wait
	}
	if c.err != nil {
		return c.err
	}
	return c.InmemStore.StoreLogs(entries)
}

// entriesOf returns entries of the given size, from an index to another.
func entriesOf(from, to uint64, size int) (all []*raft.Log) {
	for i := from; i <= to; i++ {
		all = append(all, &raft.Log{Index: i, Data: slices.Repeat([]byte{byte(i)}, size)})
	}
	return all
}

func testLogStore(below raft.LogStore, monotonic func() time.Duration) *LogStore {
	return NewLogStore(below, LogStoreOptions{
		Monotonic: monotonic, Writing: persist.NewDiskWatch().Stopwatch(), Stored: func(time.Duration) {},
	})
}

func TestRecentLogsStayInMemory(t *testing.T) {
	below := &countingLogs{InmemStore: raft.NewInmemStore()}
	l := testLogStore(below, func() time.Duration { return 0 })
	read := func(index uint64, want byte, size, reads int) {
		t.Helper()
		below.reads = 0
		var entry raft.Log
		if err := l.GetLog(index, &entry); err != nil || entry.Index != index || len(entry.Data) != size ||
			entry.Data[0] != want || below.reads != reads {
			t.Errorf("entry %d is %d with %d bytes of %d, %v, after %d reads", index, entry.Index, len(entry.Data),
				entry.Data[0], err, below.reads)
		}
	}
	const size = 1 << 20
	for i := uint64(1); i <= 40; i++ { // one at a time
		if err := l.StoreLog(entriesOf(i, i, size)[0]); err != nil {
			t.Fatal(err)
		}
	}
	kept := 0
	for i := uint64(1); i <= 40; i++ {
		below.reads = 0
		var entry raft.Log
		if err := l.GetLog(i, &entry); err != nil || entry.Index != i {
			t.Fatalf("entry %d: %+v, %v", i, entry.Index, err)
		}
		kept += 1 - below.reads
	}
	if most := maxRecentBytes / size; kept > most || kept < most-1 {
		t.Errorf("%d entries of 1 MB are kept, in %d bytes", kept, maxRecentBytes)
	}
	if l.bytes > maxRecentBytes {
		t.Errorf("%d bytes are kept", l.bytes)
	}
	if err := l.DeleteRange(35, 40); err != nil { // a conflict
		t.Fatal(err)
	}
	if err := l.StoreLogs(entriesOf(35, 36, 10)); err != nil {
		t.Fatal(err)
	}
	read(35, 35, 10, 0)
	read(34, 34, size, 1)
	if err := l.StoreLogs(entriesOf(50, 50, 10)); err != nil { // after a snapshot
		t.Fatal(err)
	}
	read(50, 50, 10, 0)
	read(36, 36, 10, 1)
	if err := l.StoreLogs(entriesOf(51, 51, 2*maxRecentBytes)); err != nil { // an entry larger than the whole cache
		t.Fatal(err)
	}
	read(51, 51, 2*maxRecentBytes, 0)
	read(50, 50, 10, 1)
	below.err = errors.New("the disk is full")
	if err := l.StoreLogs(entriesOf(52, 52, 10)); !errors.Is(err, below.err) {
		t.Errorf("to store fails with %v", err)
	}
	var entry raft.Log
	if err := l.GetLog(52, &entry); !errors.Is(err, raft.ErrLogNotFound) {
		t.Errorf("an entry that was not stored is read: %v", err)
	}
}

func TestHangingStoreIsDetected(t *testing.T) {
	now := time.Second
	below := &countingLogs{InmemStore: raft.NewInmemStore(), storing: make(chan chan struct{})}
	l := testLogStore(below, func() time.Duration { return now })
	var stored time.Duration
	l.o.Stored = func(took time.Duration) { stored = took }
	if _, running := l.o.Writing.Running(); running {
		t.Error("an idle log has a store under way")
	}
	done := make(chan error)
	go func() { done <- l.StoreLogs(entriesOf(1, 1, 1)) }()
	release := <-below.storing
	now += 3 * time.Second
	if _, running := l.o.Writing.Running(); !running {
		t.Error("it is not seen that it stores something")
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, running := l.o.Writing.Running(); running {
		t.Error("it stores something after it has stored")
	}
	if stored != 3*time.Second {
		t.Errorf("a store takes %v, want 3s", stored)
	}
}

// LastStored returns the last entry of decisions in the log, if this node stored it
// itself, across stores and deletions.
func TestLastStored(t *testing.T) {
	mono := time.Duration(0)
	l := testLogStore(raft.NewInmemStore(), func() time.Duration { return mono })
	store := func(kind raft.LogType) func(uint64) error {
		return func(index uint64) error { return l.StoreLog(&raft.Log{Index: index, Type: kind, Data: []byte("x")}) }
	}
	command, noop := store(raft.LogCommand), store(raft.LogNoop)
	for _, step := range []struct {
		name  string
		do    func(uint64) error
		index uint64
		want  uint64
		at    time.Duration
	}{
		{"a no-op", noop, 1, 0, 0},
		{"a command", command, 2, 2, 2 * time.Second},
		{"another", command, 3, 3, 3 * time.Second},
		{"a no-op behind", noop, 4, 3, 3 * time.Second},
		{"earlier entries are deleted", func(i uint64) error { return l.DeleteRange(1, i) }, 2, 3, 3 * time.Second},
		{"it is deleted", func(i uint64) error { return l.DeleteRange(i, 4) }, 3, 0, 0},
		{"another in its place", command, 3, 3, 7 * time.Second},
	} {
		mono += time.Second
		if err := step.do(step.index); err != nil {
			t.Fatal(err)
		}
		if index, at := l.LastStored(); index != step.want || at != step.at {
			t.Errorf("%s: entry %d at %v, want %d at %v", step.name, index, at, step.want, step.at)
		}
	}
}
