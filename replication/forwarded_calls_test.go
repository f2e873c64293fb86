package replication

import (
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/turns"
	"limitsrv/replication/forward"
)

// TestForwardedCallsAreReviewed: the leader passes the batches with calls of other nodes to a
// function, and those that it marks as slow wait for their turn. Batches of its own clients, and
// without calls, do not. A slow batch outlasts a pause, unless it has only scripts.
func TestForwardedCallsAreReviewed(t *testing.T) {
	served := make(chan func(), 4)
	slow := turns.New(func(serve func()) { served <- serve })
	c := startCluster(t, 3, func(o *Options) { o.Commands, o.ElectionTimeout, o.Turns = counters{}, noElection(), slow })
	leader := c.leader()
	c.awaitLevel()
	reviewed, answers := make(chan *engine.Batch, 4), make(chan error, 4)
	leader.HandleForwarded(func(b *engine.Batch, done func(error)) func(error) {
		b.Slow = true
		reviewed <- b
		return func(err error) {
			answers <- err
			done(err)
		}
	})
	follower := c.other(leader)
	answered := make(chan string, 1)
	go func() {
		got, err := count(follower, 0, "a")
		if err != nil {
			got = err.Error()
		}
		answered <- got
	}()
	eventually(t, "the forwarded call waits for its turn", func() bool { return len(served) == 1 || len(answered) == 1 })
	if len(served) != 1 || len(reviewed) != 1 {
		t.Fatalf("the forwarded call is answered %s, after %d reviews, and has no turn", <-answered, len(reviewed))
	}
	if got, err := count(leader, 0, "a"); got != "1" || err != nil {
		t.Errorf("a call of the leader, while a forwarded one waits, answers %s (%v)", got, err)
	}
	if _, err := take(follower, "b", 1, 1); err != nil {
		t.Errorf("a decision by way of the follower: %v", err)
	}
	if len(reviewed) != 1 || len(served) != 1 || len(answered) > 0 {
		t.Errorf("%d batches are reviewed, %d goroutines serve turns, %d calls are answered, want 1, 1 and 0", len(reviewed),
			len(served), len(answered))
	}
	time.Sleep(turns.MaxWait + turns.MaxWait/5) // in a pause
	(<-served)()
	if got := <-answered; got != "2" {
		t.Errorf("the forwarded call answers %s", got)
	}
	if len(answers) != 1 {
		t.Errorf("%d answers pass the reviewer, want 1", len(answers))
	}
	const much = 1 << 20
	for _, tt := range []struct {
		runs int
		work int64
		want time.Duration
	}{{0, much, forward.MaxTurnWait}, {1, 0, turns.MaxWait}, {1, much, forward.MaxTurnWait}} {
		if got := leader.turnWait(&engine.Batch{Runs: tt.runs, Work: tt.work}); got != tt.want {
			t.Errorf("%d scripts and work %d wait for %v, want %v", tt.runs, tt.work, got, tt.want)
		}
	}
}
