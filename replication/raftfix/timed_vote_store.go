package raftfix

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"limitsrv/persist"
)

// A TimedVoteStore is a [VoteStore] that times its writes. Raft v1.7.3 panics if a write
// fails. Here failed is called, which must end the process, and raft's goroutine ends,
// because nothing that it does is valid from then on.
type TimedVoteStore struct {
	*VoteStore
	writing *persist.Stopwatch
	failed  func(error)
	started atomic.Bool // raft runs; before, NewRaft writes back the values it read, on its caller's goroutine
}

// Timed returns the store for a raft that is about to start.
func (v *VoteStore) Timed(writing *persist.Stopwatch, failed func(error)) *TimedVoteStore {
	return &TimedVoteStore{VoteStore: v, writing: writing, failed: failed}
}

// SetStarted is called when raft has started.
func (v *TimedVoteStore) SetStarted() { v.started.Store(true) }

func (v *TimedVoteStore) timed(write func() error) error {
	v.writing.Start()
	defer v.writing.Stop()
	if err := write(); err != nil {
		v.failed(fmt.Errorf("the term or vote can't be written: %w", err))
		if v.started.Load() {
			runtime.Goexit()
		}
	}
	return nil
}

// Set implements [raft.StableStore].
func (v *TimedVoteStore) Set(key, value []byte) error {
	return v.timed(func() error { return v.VoteStore.Set(key, value) })
}

// SetUint64 implements [raft.StableStore].
func (v *TimedVoteStore) SetUint64(key []byte, n uint64) error {
	return v.timed(func() error { return v.VoteStore.SetUint64(key, n) })
}
