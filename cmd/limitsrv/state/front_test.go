package state

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication"
	"limitsrv/replication/front"
	"limitsrv/replication/undecided"
)

// addFront adds a front before the nodes to a target. It returns when the front is ready.
func addFront(t *testing.T, clock *backend.TestClock, to *scriptTarget, nodes []*replication.Node) *front.Front {
	t.Helper()
	var addresses []string
	for _, n := range nodes {
		addresses = append(addresses, n.Nodes("")[0].Raft)
	}
	notices := new(engine.Notices)
	start := clock.Now()
	f, err := front.Open(front.Options{
		Nodes: addresses[:1], Client: "127.0.0.1:6379", Version: version, NoQuorum: undecided.Error,
		ElectionTimeout: 2 * time.Second, Commands: Commands, Notices: notices, Level: replication.FrontLevel,
		Logger: slog.New(slog.DiscardHandler), Wall: clock.Now,
		Monotonic: func() time.Duration { return time.Duration(clock.Now() - start) },
		Fatal:     func(err error) { t.Errorf("the front can't go on: %v", err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	a := frontAdapter{f, "off"}
	c := scriptConfig()
	c.Exec, c.Engine, c.Clock, c.Store, c.Cluster, c.Notices = f, f.Engine, f, noStore{}, a, notices
	c.State, c.Ask = front.State{Front: f}, a.ask
	to.config = append(to.config, c)
	testwait.Until(t, wait, "the front is ready", func() bool {
		r := f.Replication()
		return r.HasQuorum && r.Pending == ""
	})
	return f
}

// isFront reports whether a connection is to a front.
func (s *scriptTarget) isFront(name string) bool { return s.conn(name).Handler().AtFront() }

// TestFrontOfOlderGroup: a front refuses the ops that the log of its group may not have, and no others.
func TestFrontOfOlderGroup(t *testing.T) {
	since := map[uint16]int{4 << 12: 6, 4<<12 + 4: 5} // a reservation and a call with an id, with their levels
	for call, least := range since {
		var b engine.Batch
		b.AddCall(0).Command = call
		b.AddCall(0).Command = 1
		for level := replication.FrontLevel; level <= least; level++ {
			f, err := front.Open(front.Options{Nodes: []string{"127.0.0.1:1"}, Client: "127.0.0.1:6379", Level: level,
				NoQuorum: undecided.Error, Commands: Commands, Notices: new(engine.Notices), Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			a := frontAdapter{f, "off"}
			whole, rest := a.Loggable(&b, 0), a.Loggable(&b, 1)
			if err := f.Close(context.Background()); err != nil {
				t.Error(err)
			}
			if (whole != nil) != (level < least) || rest != nil {
				t.Errorf("at level %d: call %#x: %v, and without it %v", level, call, whole, rest)
			}
		}
	}
}
