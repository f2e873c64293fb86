package replication

import (
	"context"
	"testing"
	"time"
)

func TestWait(t *testing.T) {
	c := startCluster(t, 3, nil)
	leader := c.leader()
	if _, err := take(leader, "k", 10, 1); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	for _, tt := range []struct {
		name     string
		ctx      context.Context
		replicas int
		timeout  time.Duration
		least    int
	}{
		{"until enough have it", context.Background(), 2, time.Minute, 2},
		{"without waiting for nobody", context.Background(), 0, 0, 2},
		{"until the time is over", context.Background(), 3, time.Millisecond, 0},
		{"until it is given up", ended, 3, time.Hour, 0},
	} {
		told := make(chan int, 1)
		leader.Wait(tt.ctx, tt.replicas, tt.timeout, func(n int) { told <- n })
		if tt.replicas == 0 && len(told) == 0 {
			t.Errorf("it waits %s: nothing is told at once", tt.name)
		}
		if n := <-told; n < tt.least {
			t.Errorf("it waits %s: %d have it, want %d or more", tt.name, n, tt.least)
		}
	}
	for _, n := range c.nodes {
		if n != leader {
			n.Wait(context.Background(), 1, time.Hour, func(have int) {
				if have != 0 {
					t.Errorf("a follower counts %d", have)
				}
			})
		}
	}
}
