package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"limitsrv/internal/respclient"
)

// failoverClients are the clients of a trio. Each takes permits in turn of random keys, at
// a fixed rate, and changes to another server when its server fails.
//
// While the leader is isolated, half of the clients reach only the leader, and the
// other half only the other servers.
type failoverClients struct {
	trio   *trio
	plan   failoverPlan
	leader int // before the fault

	granted []atomic.Int64 // permits of each key
	state   atomic.Pointer[reachability]
	// firstElsewhere is the time from the fault to the first reply, by a server other than
	// the leader, to a decision that was sent after the fault; 0: no reply yet.
	firstElsewhere atomic.Int64
}

// A reachability lists the servers that each half of the clients reaches, since a time.
type reachability struct {
	since time.Time // of the fault; zero: no fault yet
	minor []int     // reached by the clients on the leader's side
	major []int     // reached by the other clients
}

func newFailoverClients(t *trio, d failoverPlan, leader int) *failoverClients {
	c := &failoverClients{trio: t, plan: d, leader: leader, granted: make([]atomic.Int64, d.keys)}
	c.state.Store(&reachability{minor: everyHost, major: everyHost})
	return c
}

// markFault applies fault f, which began at since.
func (c *failoverClients) markFault(f fault, since time.Time) {
	others := without(everyHost, c.leader)
	b := &reachability{since: since, minor: others, major: others}
	if f == isolated {
		b.minor = []int{c.leader}
	}
	c.state.Store(b)
}

// heal makes every server reachable again.
func (c *failoverClients) heal() {
	c.state.Store(&reachability{since: c.state.Load().since, minor: everyHost, major: everyHost})
}

// reaches returns the servers that a client currently reaches.
func (c *failoverClients) reaches(client int) []int {
	b := c.state.Load()
	if client%2 == 0 {
		return b.minor
	}
	return b.major
}

// clientLoops returns the clients as functions. Each function runs until its context ends.
func (c *failoverClients) clientLoops() []func(context.Context) error {
	var all []func(context.Context) error
	for i := range c.plan.clients {
		all = append(all, func(ctx context.Context) error { return c.runClient(ctx, i) })
	}
	return all
}

// retryAfter is the pause of a client that found no server.
const retryAfter = 10 * time.Millisecond

// runClient runs a client. It returns no error, because failures are part of the test.
func (c *failoverClients) runClient(ctx context.Context, client int) error {
	var (
		keys  = rand.New(rand.NewPCG(1, uint64(client))) // the same in every run
		every = time.Duration(float64(time.Second) * float64(c.plan.clients*c.plan.pipeline) / float64(c.plan.rate))
		due   = time.Now().Add(every * time.Duration(client) / time.Duration(c.plan.clients))
		batch = make([]int, c.plan.pipeline)
	)
	for try := client / 2; ctx.Err() == nil; try++ {
		server, err := c.trio.route(c.reaches(client), try)
		if err != nil || !slices.Contains(c.reaches(client), server) {
			sleep(ctx, retryAfter)
			continue
		}
		conn, err := dial(c.trio.servers[server].address)
		if err != nil {
			sleep(ctx, retryAfter)
			continue
		}
		for good := true; good && ctx.Err() == nil && slices.Contains(c.reaches(client), server); {
			if due = due.Add(every); time.Since(due) > every {
				due = time.Now() // requests missed during an outage are not made up for
			}
			sleep(ctx, time.Until(due))
			for i := range batch {
				batch[i] = keys.IntN(c.plan.keys)
			}
			good = c.takePermits(conn, server, batch)
		}
		conn.conn.Close()
		sleep(ctx, retryAfter)
	}
	return nil
}

// takePermits takes a permit of each key of a batch. It returns false if the server
// failed.
func (c *failoverClients) takePermits(conn *client, server int, batch []int) bool {
	var request []byte
	for _, key := range batch {
		request = respclient.AppendCommand(request, c.command(c.trio.take, key, 1)...)
	}
	begin := time.Now()
	conn.conn.SetDeadline(begin.Add(clientWait))
	if _, err := conn.conn.Write(request); err != nil {
		return false
	}
	good := true
	for _, key := range batch {
		reply, err := conn.read()
		if _, answered := err.(respclient.Error); answered {
			good = false
			continue
		}
		if err != nil {
			return false
		}
		if allowed(reply) {
			c.granted[key].Add(1)
		}
		c.recordDecision(server, begin)
	}
	return good
}

// recordDecision records a decision of server, requested at begin.
func (c *failoverClients) recordDecision(server int, begin time.Time) {
	since := c.state.Load().since
	if server != c.leader && !since.IsZero() && begin.After(since) && c.firstElsewhere.Load() == 0 {
		c.firstElsewhere.CompareAndSwap(0, int64(time.Since(since)))
	}
}

// command substitutes the placeholders of a command of the trio.
func (c *failoverClients) command(template []string, key int, permits int64) []string {
	words := slices.Clone(template)
	for i, word := range words {
		switch word {
		case keyPlace:
			words[i] = fmt.Sprintf("%s%0*d", keyPrefix, keyDigits, key)
		case capacityPlace:
			words[i] = fmt.Sprint(c.plan.capacity())
		case permitsPlace:
			words[i] = fmt.Sprint(permits)
		}
	}
	return words
}

// allowed reports whether reply grants a decision.
func allowed(reply any) bool {
	fields, ok := reply.([]any)
	return ok && len(fields) > 0 && fields[0] == int64(1)
}

func without(all []int, one int) []int {
	return slices.DeleteFunc(slices.Clone(all), func(i int) bool { return i == one })
}

// sleep waits for d. It returns an error if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
