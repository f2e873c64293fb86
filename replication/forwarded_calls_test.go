package replication

import (
	"testing"

	"limitsrv/engine"
)

// TestForwardedCallsAreHandled: the leader passes the batches with calls of other nodes to a
// function, which may keep them for a time, and none of its own clients and none without calls.
func TestForwardedCallsAreHandled(t *testing.T) {
	c := startCluster(t, 3, func(o *Options) { o.Commands, o.ElectionTimeout = counters{}, noElection() })
	leader := c.leader()
	c.awaitLevel()
	type held struct {
		batch *engine.Batch
		done  func(error)
	}
	kept := make(chan held, 4)
	leader.HandleForwarded(func(b *engine.Batch, done func(error)) { kept <- held{b, done} })
	follower := c.other(leader)
	answered := make(chan string, 1)
	go func() {
		got, err := count(follower, 0, "a")
		if err != nil {
			got = err.Error()
		}
		answered <- got
	}()
	eventually(t, "the forwarded call is kept", func() bool { return len(kept) == 1 || len(answered) == 1 })
	if len(kept) != 1 {
		t.Fatalf("the forwarded call is answered %s, and not kept", <-answered)
	}
	first := <-kept
	if got, err := count(leader, 0, "a"); got != "1" || err != nil {
		t.Errorf("a call of the leader, while a forwarded one is kept, answers %s (%v)", got, err)
	}
	if _, err := take(follower, "b", 1, 1); err != nil {
		t.Errorf("a decision by way of the follower: %v", err)
	}
	if len(kept) > 0 || len(answered) > 0 {
		t.Errorf("%d more batches are kept, %d calls are answered, want none", len(kept), len(answered))
	}
	leader.ExecForwarded(first.batch, first.done)
	leader.Commit()
	if got := <-answered; got != "2" {
		t.Errorf("the forwarded call answers %s", got)
	}
}
