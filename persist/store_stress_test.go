package persist

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// TestStress runs connections that reuse their batches, reads, sweeps, snapshots,
// backups, a changing memory bound, and a disk that fails and heals. The used permits of
// each key must be the same after a restart.
func TestStress(t *testing.T) {
	for _, policy := range allPolicies {
		for _, evict := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v evict=%v", policy, evict), func(t *testing.T) {
				t.Parallel()
				seed := testwait.Seed(t)
				t.Logf("seed %d", seed)
				stress(t, policy, evict, seed)
			})
		}
	}
}

func stress(t *testing.T, policy Policy, evict bool, seed uint64) {
	var disk badDisk
	o := testOptions(t, disk.over(vfs.NewMem()), policy)
	o.Engine = engine.Options{MaxMemory: 400 << 10, Evict: evict}
	o.RetryEvery = time.Millisecond
	s := start(t, o)
	rng := rand.New(rand.NewPCG(seed, 0))
	done := make(chan struct{})
	var wait sync.WaitGroup
	every := func(what func()) {
		wait.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					what()
				}
			}
		})
	}
	for i := range 6 {
		rng := rand.New(rand.NewPCG(seed, uint64(i+1)))
		var b engine.Batch
		every(func() {
			b.Reset()
			for range 1 + rng.IntN(20) {
				b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Params: counterOf, N: int64(rng.IntN(3)),
					Key: fmt.Appendf(nil, "key:%d", rng.IntN(12_000))})
			}
			_ = perform(s, &b) // may be rejected
		})
	}
	pause := func() { time.Sleep(time.Millisecond) }
	every(func() { s.Sweep(10); s.Status(); pause() })
	every(func() { _ = s.Save(func(Info, error) {}); pause() })
	every(func() { s.SetBound(300<<10+time.Now().UnixNano()%(200<<10), evict); pause() })
	backups := 0
	every(func() {
		backups++
		_ = s.Backup(fmt.Sprintf("b%d", backups), func(string, error) {})
		time.Sleep(50 * time.Millisecond)
	})
	for range 10 {
		time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
		disk.fail([]error{syscall.EIO, syscall.ENOSPC}[rng.IntN(2)])
		time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
		disk.heal()
	}
	eventually(t, "the log is reopened", func() bool { return s.Status().Failed == nil })
	close(done)
	wait.Wait()
	want := map[string]int64{}
	for _, key := range keysOf(s) {
		want[key] = used(s, key)
	}
	if err := s.Close(context.Background(), Parting(rng.IntN(3))); err != nil {
		t.Fatal(err)
	}
	o.Engine.MaxMemory = 0
	s = start(t, o)
	defer end(t, s, false)
	checkCounts(t, s, want, policy != Always)
}
