package front

import (
	"sync/atomic"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication/fronts"
)

// TestFreshTellsOfChanges: Fresh returns when the clients of the front were told of the keys that had
// changed, or that any key may have changed: also if the leader did not know that they track.
func TestFreshTellsOfChanges(t *testing.T) {
	for _, known := range []bool{true, false} {
		n := newFakeNode(t, "1")
		n.leads(true, 1, 1, 4)
		f, _ := openFront(t, n)
		if !freshTells(t, n, f, known) {
			t.Errorf("Fresh returns before the clients are told of a change; the leader knew that they track: %v", known)
		}
	}
}

// freshTells reports whether Fresh returned after the clients were told of a change. known: the leader
// knew of the clients before the change.
func freshTells(t *testing.T, n *fakeNode, f *Front, known bool) bool {
	t.Helper()
	var keys, all atomic.Int64
	f.o.Notices.HandleChanges(func(list []engine.Change) {
		for i := range list {
			if list[i].All {
				all.Add(1)
			} else {
				keys.Add(1)
			}
		}
	})
	if known {
		f.o.Notices.Track(1)
		testwait.Until(t, wait, "the leader knows that the front tracks",
			func() bool { return n.notices.Tracks() && all.Load() > 0 })
	}
	var held atomic.Bool
	release := make(chan struct{})
	watch := func(fronts.WatchRequest) bool {
		held.Store(true)
		<-release
		return true
	}
	n.watch.Store(&watch)
	testwait.Until(t, wait, "the front waits for news", held.Load)
	if !known {
		f.o.Notices.Track(1)
	}
	before := all.Load()
	n.engine.Apply(1e18, &engine.Batch{Notices: n.notices, Ops: []engine.Op{{Key: []byte("k"), N: 1,
		Params: engine.Params{Alg: engine.Fixed, Limit: 9, Period: engine.MaxPeriod}}}})
	n.notices.Send()
	told := make(chan bool)
	f.Fresh(func(err error) { told <- err == nil && keys.Load()+all.Load() > before })
	testwait.Until(t, wait, "the leader is asked", func() bool { return n.reads.Load() > 0 })
	time.Sleep(10 * time.Millisecond) // for the answer
	close(release)
	return <-told
}
