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
		v := &votesWatched{votes: &votes{StableStore: stable}, mono: sinceNow(), writing: new(stopwatch), failed: func(err error) { failed = err }}
		v.started.Store(started)
		disk.fault.failWrites(0, context.DeadlineExceeded)
		returned, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			v.SetUint64([]byte("CurrentTerm"), 1)
			returned = true
		}()
		<-ended
		if !errors.Is(failed, context.DeadlineExceeded) || returned == started || v.writing.running(time.Hour) != 0 {
			t.Errorf("started %v: told %v, went on: %v, under way for %v", started, failed, returned, v.writing.running(time.Hour))
		}
	}
}

// TestHanging has the disk take its time, under a write of each kind.
func TestHanging(t *testing.T) {
	s := &seat{snapshots: new(snapshotsWatched), logs: newLogs(nil, sinceNow())}
	for _, leads := range []bool{false, true} {
		for _, tt := range []struct {
			what  string
			watch *stopwatch
			most  time.Duration
		}{
			{"the log", &s.logs.storing, map[bool]time.Duration{false: followerHang, true: leaderHang}[leads]},
			{"a vote", &s.voting, map[bool]time.Duration{false: followerHang, true: leaderHang}[leads]},
			{"a snapshot", &s.snapshots.writing, followerHang},
		} {
			for _, after := range []time.Duration{tt.most, tt.most + 1} {
				tt.watch.start(time.Minute)
				if err := s.hanging(time.Minute+after, leads); (err != nil) != (after > tt.most) {
					t.Errorf("leads %v, %s under way for %v: %v", leads, tt.what, after, err)
				}
				tt.watch.stop()
			}
		}
	}
}
