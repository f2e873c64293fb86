package persist

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// TestDay simulates a day of steady traffic: users come and go, and disk use at the end
// of the day is no more than after its first hours. It runs in virtual time.
func TestDay(t *testing.T) {
	testwait.Long(t)
	for _, policy := range []Policy{Always, EverySecond} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { day(t, policy) })
		})
	}
}

func day(t *testing.T, policy Policy) {
	fs := vfs.NewMem()
	o := testOptions(t, fs, policy)
	o.SnapshotLogBytes = 512 << 10
	clock := o.Clock.(*testClock)
	s := start(t, o)
	d := traffic{t: t, s: s, fs: fs, rng: rand.New(rand.NewPCG(11, 11))}
	var most [4]int64 // bytes on disk in each quarter of the day
	for minute := range 24 * 60 {
		d.minute(minute)
		clock.add(time.Minute)
		time.Sleep(time.Minute)
		s.Sweep(1 + int(s.Engine().Len()/60))
		quarter := minute * len(most) / (24 * 60)
		most[quarter] = max(most[quarter], diskUse(t, fs, testDir))
	}
	st := s.Status()
	t.Logf("bytes on disk, at most, by quarter: %d; %d snapshots, %d keys", most, st.Saved.Count, s.Engine().Len())
	if bound := most[0] + most[0]/4; most[1] > bound || most[2] > bound || most[3] > bound {
		t.Errorf("bytes on disk, at most, by quarter: %d: it grows", most)
	}
	if st.Saved.Count < 10 {
		t.Errorf("%d snapshots in a day", st.Saved.Count)
	}
	if names, err := s.logNames(); err != nil || len(names) != 1 || st.Log.Segments > 12 {
		t.Errorf("logs %v (%v) with %d segments are left", names, err, st.Log.Segments)
	}
	if all, err := s.snapshots.All(); err != nil || len(all) != 1 {
		t.Errorf("%d snapshots are left (%v)", len(all), err)
	}
	end(t, s, true)
}

// traffic is the load of a day.
type traffic struct {
	t   *testing.T
	s   *Store
	fs  vfs.FS
	rng *rand.Rand
}

// minute is the traffic of a minute: users of the last minutes, each with a few limits. It
// waits if it is ahead of the snapshots.
func (d *traffic) minute(n int) {
	bucket := engine.Params{Alg: engine.Token, Limit: 100, Count: 1, Period: int64(time.Second)}
	window := engine.Params{Alg: engine.Slide, Limit: 50, Period: int64(time.Minute)}
	log := engine.Params{Alg: engine.Log, Limit: 20, Period: int64(time.Minute)}
	for range 5 {
		var b engine.Batch
		for range 16 {
			user := n*10 - d.rng.IntN(200)
			for i, p := range []engine.Params{bucket, window, log} {
				b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Params: p, N: 1, Key: fmt.Appendf(nil, "user:%d:%d", user, i)})
			}
		}
		if err := perform(d.s, &b); err != nil {
			d.t.Fatal(err)
		}
	}
	if d.s.log.Load().Bytes() > 2*d.s.logBound() {
		eventually(d.t, "a snapshot", func() bool { return d.s.log.Load().Bytes() < d.s.logBound() })
	}
}

// diskUse returns the size of all files below a directory. Files may vanish meanwhile.
func diskUse(t *testing.T, fs vfs.FS, dir string) (sum int64) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		return 0
	}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		switch {
		case err != nil:
		case info.IsDir():
			sum += diskUse(t, fs, path)
		default:
			sum += info.Size()
		}
	}
	return sum
}
