package replication

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestWait(t *testing.T) {
	c := startCluster(t, 3, keepLeader)
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
		{"until the time is over", context.Background(), 3, time.Millisecond, 0},
		{"until it is canceled", ended, 3, time.Hour, 0},
	} {
		done := make(chan int, 1)
		leader.Wait(tt.ctx, tt.replicas, tt.timeout, func(n int) { done <- n })
		if n := <-done; n < tt.least {
			t.Errorf("it waits %s: %d have it, want %d or more", tt.name, n, tt.least)
		}
	}
	// The leader also writes entries by itself, which the other nodes may not have yet.
	eventually(t, "the last known number is 2", func() bool {
		known := -1
		leader.Wait(context.Background(), 0, 0, func(n int) { known = n })
		if known < 0 {
			t.Fatal("for no node, done is not called at once")
		}
		return known == 2
	})
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

// countingNetwork counts the links that are made.
type countingNetwork struct {
	tcp
	made *atomic.Int64
}

func (c countingNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	c.made.Add(1)
	return c.tcp.Dial(ctx, address)
}

// Many Waits wait for more nodes than there are.
func TestWaitersShareCalls(t *testing.T) {
	var made atomic.Int64
	c := startCluster(t, 3, func(o *Options) { o.Network = countingNetwork{made: &made} })
	leader := c.leader()
	const many, rounds = 1000, 10
	before := made.Load()
	var done sync.WaitGroup
	done.Add(many)
	for range many {
		leader.Wait(context.Background(), 3, rounds*waitPollInterval, func(int) { done.Done() })
	}
	done.Wait()
	if links := made.Load() - before; links > many {
		t.Errorf("%d that waited for %v made %d links", many, rounds*waitPollInterval, links)
	}
	eventually(t, "polling ends", func() bool {
		leader.waiters.mu.Lock()
		defer leader.waiters.mu.Unlock()
		return !leader.waiters.asking && len(leader.waiters.all) == 0
	})
}
