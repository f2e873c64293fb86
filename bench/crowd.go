package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// A crowd is the clients of a trio: each takes one permit after the other of random
// keys, at a fixed rate, and goes elsewhere when its server fails it.
//
// When the leader is isolated half of the clients are on its side of the break, and
// the others on that of the other servers.
type crowd struct {
	trio   *trio
	drill  drill
	leader int // before the fault

	granted []atomic.Int64 // permits of each key
	refused atomic.Int64
	state   atomic.Pointer[breakage]
	// firstElsewhere is how long after the fault another server than the leader
	// first answered a decision that was sent after the fault; 0: not yet.
	firstElsewhere atomic.Int64
}

// A breakage is who reaches which servers, from some time on.
type breakage struct {
	since time.Time // of the fault; zero: none yet
	minor []int     // servers that the clients on the side of the leader reach
	major []int     // and those that the others do
}

func newCrowd(t *trio, d drill, leader int) *crowd {
	c := &crowd{trio: t, drill: d, leader: leader, granted: make([]atomic.Int64, d.keys)}
	c.state.Store(&breakage{minor: everyHost, major: everyHost})
	return c
}

// strike says that the fault is there since a time.
func (c *crowd) strike(f fault, since time.Time) {
	others := without(everyHost, c.leader)
	b := &breakage{since: since, minor: others, major: others}
	if f == isolated {
		b.minor = []int{c.leader}
	}
	c.state.Store(b)
}

// mend says that every server is reached again.
func (c *crowd) mend() {
	c.state.Store(&breakage{since: c.state.Load().since, minor: everyHost, major: everyHost})
}

// reaches are the servers that a client reaches now.
func (c *crowd) reaches(client int) []int {
	b := c.state.Load()
	if client%2 == 0 {
		return b.minor
	}
	return b.major
}

// takers are the clients, each of which takes until its context ends.
func (c *crowd) takers() []func(context.Context) error {
	var all []func(context.Context) error
	for i := range c.drill.clients {
		all = append(all, func(ctx context.Context) error { return c.take(ctx, i) })
	}
	return all
}

// retryAfter is how long a client rests that found no server.
const retryAfter = 10 * time.Millisecond

// take is one client. It gives no error: whatever fails is part of the ordeal.
func (c *crowd) take(ctx context.Context, client int) error {
	var (
		keys  = scatteredKeys(client)
		every = time.Duration(float64(time.Second) * float64(c.drill.clients*c.drill.pipeline) / float64(c.drill.rate))
		due   = time.Now().Add(every * time.Duration(client) / time.Duration(c.drill.clients))
		batch = make([]int, c.drill.pipeline)
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
				due = time.Now() // what an outage kept from being asked is not made up for
			}
			sleep(ctx, time.Until(due))
			for i := range batch {
				batch[i] = keys.IntN(c.drill.keys)
			}
			good = c.askFor(conn, server, batch)
		}
		conn.conn.Close()
		sleep(ctx, retryAfter)
	}
	return nil
}

// askFor takes a permit of each key of a batch. It is false if the server failed.
func (c *crowd) askFor(conn *client, server int, batch []int) bool {
	var request []byte
	for _, key := range batch {
		request = appendCommand(request, c.command(c.trio.take, key, 1)...)
	}
	begin := time.Now()
	conn.conn.SetDeadline(begin.Add(clientWait))
	if _, err := conn.conn.Write(request); err != nil {
		c.refused.Add(int64(len(batch)))
		return false
	}
	good := true
	for i, key := range batch {
		reply, err := conn.read()
		if _, answered := err.(replyError); answered {
			c.refused.Add(1)
			good = false
			continue
		}
		if err != nil {
			c.refused.Add(int64(len(batch) - i))
			return false
		}
		if allowed(reply) {
			c.granted[key].Add(1)
		}
		c.decided(server, begin)
	}
	return good
}

// decided takes note of a decision of a server that was asked for at begin.
func (c *crowd) decided(server int, begin time.Time) {
	since := c.state.Load().since
	if server != c.leader && !since.IsZero() && begin.After(since) && c.firstElsewhere.Load() == 0 {
		c.firstElsewhere.CompareAndSwap(0, int64(time.Since(since)))
	}
}

// command fills in a command of the trio.
func (c *crowd) command(template []string, key int, permits int64) []string {
	words := slices.Clone(template)
	for i, word := range words {
		switch word {
		case keyPlace:
			words[i] = fmt.Sprintf("%s%0*d", keyPrefix, keyDigits, key)
		case capacityPlace:
			words[i] = fmt.Sprint(c.drill.capacity())
		case permitsPlace:
			words[i] = fmt.Sprint(permits)
		}
	}
	return words
}

// allowed says whether a decision let through what it was asked for.
func allowed(reply any) bool {
	fields, ok := reply.([]any)
	return ok && len(fields) > 0 && fields[0] == int64(1)
}

// without is all but one.
func without(all []int, one int) []int {
	return slices.DeleteFunc(slices.Clone(all), func(i int) bool { return i == one })
}

// sleep waits so long, or until ctx ends, which is an error.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
