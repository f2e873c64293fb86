package storage

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/persist"
)

// The disk is slow under a write of each kind, in a process that runs, and in a process
// that is stopped for as long.
func TestHangingDisk(t *testing.T) {
	for _, leads := range []bool{false, true} {
		for which, most := range []time.Duration{
			map[bool]time.Duration{false: FollowerHang, true: LeaderHang}[leads],
			map[bool]time.Duration{false: FollowerHang, true: LeaderHang}[leads],
			FollowerHang,
		} {
			for _, stopped := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					disk, begun := persist.NewDiskWatch(), time.Now()
					s := &Files{logWrites: disk.Stopwatch(), voteWrites: disk.Stopwatch(), snapshotWrites: disk.Stopwatch()}
					write := []*persist.Stopwatch{s.logWrites, s.voteWrites, s.snapshotWrites}[which]
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var hangs time.Duration
					looks, slept := 0, false
					time.AfterFunc(time.Minute, write.Start) // it is idle at that time
					disk.Run(ctx, func() bool {
						busy, err := s.CheckWrites(leads)
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
