package replication

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/persist"
)

// The disk fails: failed is called, and once raft runs its goroutine ends.
func TestTimedVotes(t *testing.T) {
	for _, started := range []bool{false, true} {
		disk := newSimDisk()
		stable, _, _ := disk.open("/raft")
		var failed error
		v := &timedVotes{voteStore: &voteStore{StableStore: stable}, writing: persist.NewDiskWatch().Stopwatch(), failed: func(err error) { failed = err }}
		v.started.Store(started)
		disk.fault.failWrites(0, context.DeadlineExceeded)
		returned, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			v.SetUint64([]byte("CurrentTerm"), 1)
			returned = true
		}()
		<-ended
		if _, running := v.writing.Running(); !errors.Is(failed, context.DeadlineExceeded) || returned == started || running {
			t.Errorf("started %v: failed(%v), returned: %v, under way: %v", started, failed, returned, running)
		}
	}
}

// The disk is slow under a write of each kind, in a process that runs, and in one that is
// stopped for as long.
func TestHangingDisk(t *testing.T) {
	for _, leads := range []bool{false, true} {
		for which, most := range []time.Duration{
			map[bool]time.Duration{false: followerHang, true: leaderHang}[leads],
			map[bool]time.Duration{false: followerHang, true: leaderHang}[leads],
			followerHang,
		} {
			for _, stopped := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					disk, begun := persist.NewDiskWatch(), time.Now()
					s := &raftStack{snapshots: &timedSnapshots{writing: disk.Stopwatch()}, entries: newCachedLog(nil, monotonicClock(), disk), voting: disk.Stopwatch()}
					write := []*persist.Stopwatch{s.entries.storing, s.voting, s.snapshots.writing}[which]
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var hangs time.Duration
					looks, slept := 0, false
					time.AfterFunc(time.Minute, write.Start) // it is idle at that time
					disk.Run(ctx, func() bool {
						busy, err := s.checkWrites(leads)
						switch looks++; {
						case !stopped || !busy:
						case slept:
							write.Stop()
							cancel()
						default:
							time.Sleep(2 * most) // nothing of the process runs
							slept = true
						}
						if err != nil {
							hangs = time.Since(begun) - time.Minute
							cancel()
						}
						return busy
					})
					if stopped != (hangs == 0) || hangs > most+2*persist.WatchEvery || looks > 100+int(most/persist.WatchEvery) {
						t.Errorf("leads %v, write %d, stopped %v: it hangs after %v and %d looks", leads, which, stopped, hangs, looks)
					}
				})
			}
		}
	}
}
