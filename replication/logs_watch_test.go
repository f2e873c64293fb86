package replication

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestVotesWatched has the disk fail: the error is told, and once raft runs its
// goroutine ends.
func TestVotesWatched(t *testing.T) {
	for _, started := range []bool{false, true} {
		disk := newSimDisk()
		stable, _, _ := disk.open("/raft")
		var failed error
		v := &votesWatched{votes: &votes{StableStore: stable}, logs: newLogs(nil, func() time.Duration { return 1 }), failed: func(err error) { failed = err }}
		v.started.Store(started)
		disk.fault.failWrites(0, context.DeadlineExceeded)
		returned, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			v.SetUint64([]byte("CurrentTerm"), 1)
			returned = true
		}()
		<-ended
		if !errors.Is(failed, context.DeadlineExceeded) || returned == started || v.logs.hangs() != 0 {
			t.Errorf("started %v: told %v, went on: %v, hangs for %v", started, failed, returned, v.logs.hangs())
		}
	}
}
