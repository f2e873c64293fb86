package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// A fault is a failure of the leader of a trio.
type fault string

const (
	// killed: its machine fails, and messages in flight are lost.
	killed fault = "killed"
	// isolated: for a while the other servers can't reach it, and half of the clients
	// can reach no other server.
	isolated fault = "isolated"
)

// faults are all faults, in the order of the table.
var faults = []fault{killed, isolated}

// A trioKind is a way to keep limits on three servers.
type trioKind struct {
	name  string
	start func(ctx context.Context, e *env, dir string) (*trio, error)
}

// trioKinds are all kinds, in the order of the table.
var trioKinds = []trioKind{
	{"limitsrv", func(ctx context.Context, e *env, dir string) (*trio, error) {
		return e.startLimitsrvTrio(ctx, dir, newTrioNetwork())
	}},
	{"Redis + Sentinel", func(ctx context.Context, e *env, dir string) (*trio,
		error) {
		return e.startRedisTrio(ctx, dir)
	}},
	{"the same, min-replicas-to-write 1", func(ctx context.Context, e *env, dir string) (*trio, error) {
		return e.startRedisTrio(ctx, dir, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "1")
	}},
}

// A failoverRun is the result of a fault.
type failoverRun struct {
	// over is the number of permits granted beyond the capacities of their keys, after
	// every key was emptied, and worst is the largest ratio of permits granted to
	// capacity of any key.
	over  int64
	worst float64
	// forgotten is the number of granted permits that the servers no longer counted at
	// the end of the load. It is too low by the number of decisions that were made and
	// never answered.
	forgotten int64
	outage    time.Duration // until a server other than the leader decided
}

// failoverLegend describes the columns of the table.
const failoverLegend = `Three servers: the leader is killed with its machine, or isolated from the other two for a while, together with half of the
clients; 0.5 ms one way between machines. limitsrv has --election-timeout 300ms, Sentinel down-after-milliseconds 500. Granted beyond capacity: by all
servers, after every key was emptied, of keys that are never refilled; worst key: the largest ratio of permits granted to
capacity. Grants forgotten: granted permits that the servers did not count at the end. Without decisions: from the fault to the
first decision of another server. Medians (minimum to maximum).
`

// failover runs every kind of trio through every fault, round by round.
func failover(ctx context.Context, e *env) error {
	type result struct {
		fault  fault
		kind   trioKind
		rounds []failoverRun
	}
	var all []*result
	for _, f := range faults {
		for _, k := range trioKinds {
			all = append(all, &result{fault: f, kind: k})
		}
	}
	for range e.rounds {
		for _, r := range all {
			got, err := e.runFault(ctx, r.kind, r.fault)
			if err != nil {
				return fmt.Errorf("%s, leader %s: %w", r.kind.name, r.fault, err)
			}
			r.rounds = append(r.rounds, got)
			e.say("%s, leader %s: %d beyond capacity, %v without decisions", r.kind.name, r.fault, got.over, got.outage)
		}
	}
	d := e.failover
	e.add(failoverTable,
		fmt.Sprintf("leader (%d keys of %s permits, %s/s asked)", d.keys, countText(float64(d.capacity())),
			countText(float64(d.rate))),
		"servers", "granted beyond capacity", "worst key", "grants forgotten", "without decisions")
	for _, r := range all {
		e.add(failoverTable, failoverRow(r.fault, r.kind.name, r.rounds)...)
	}
	return nil
}

// failoverRow formats the rounds of a fault of a trio.
func failoverRow(f fault, trio string, rounds []failoverRun) row {
	span := func(of func(failoverRun) float64, unit string, text func(float64) string) string {
		all := column(rounds, of)
		return fmt.Sprintf("%s%s (%s to %s)", text(figureOf(all).median), unit, text(slices.Min(all)), text(slices.Max(all)))
	}
	return row{
		string(f), trio,
		span(func(r failoverRun) float64 { return float64(r.over) }, "", countText),
		fmt.Sprintf("%.2fx", slices.Max(column(rounds, func(r failoverRun) float64 { return r.worst }))),
		span(func(r failoverRun) float64 { return float64(r.forgotten) }, "", countText),
		span(func(r failoverRun) float64 { return r.outage.Round(time.Millisecond).Seconds() }, " s",
			func(s float64) string { return fmt.Sprintf("%.2f", s) }),
	}
}

// runFault runs a new trio through a fault.
func (e *env) runFault(ctx context.Context, k trioKind, f fault) (failoverRun, error) {
	defer e.stop()
	dir, err := os.MkdirTemp(e.dir, "failover-")
	if err != nil {
		return failoverRun{}, err
	}
	t, err := k.start(ctx, e, dir)
	if err != nil {
		return failoverRun{}, err
	}
	leader, err := t.leader(everyHost)
	if err != nil {
		return failoverRun{}, err
	}
	clients := newFailoverClients(t, e.failover, leader)
	if err := clients.runLoad(ctx, f); err != nil {
		return failoverRun{}, err
	}
	remaining := everyHost
	if f == killed {
		remaining = without(everyHost, leader)
	}
	return clients.audit(ctx, remaining)
}

// runLoad runs all clients during the fault.
func (c *failoverClients) runLoad(ctx context.Context, f fault) error {
	t := c.trio
	return alongside(ctx, func() error {
		if err := sleep(ctx, c.plan.before); err != nil {
			return err
		}
		begin := time.Now()
		t.network.Isolate(hosts[c.leader])
		if f == killed {
			t.servers[c.leader].stop()
		}
		c.markFault(f, begin)
		if err := sleep(ctx, c.plan.during); err != nil {
			return err
		}
		if f == isolated {
			t.network.Heal()
			c.heal()
		}
		return sleep(ctx, c.plan.after)
	}, c.clientLoops()...)
}

// audit compares the servers' counts with the permits granted, after it has emptied
// every key.
func (c *failoverClients) audit(ctx context.Context, servers []int) (failoverRun, error) {
	if err := eventually(ctx, func() error { _, err := c.trio.leader(servers); return err }); err != nil {
		return failoverRun{}, err
	}
	leader, err := c.trio.leader(servers)
	if err != nil {
		return failoverRun{}, err
	}
	conn, err := dial(c.trio.servers[leader].address)
	if err != nil {
		return failoverRun{}, err
	}
	defer conn.conn.Close()
	conn.conn.SetDeadline(time.Now().Add(trioWait))
	if c.firstElsewhere.Load() == 0 {
		return failoverRun{}, fmt.Errorf("no other server decided within %v", c.plan.during+c.plan.after)
	}
	result := failoverRun{outage: time.Duration(c.firstElsewhere.Load())}
	capacity := c.plan.capacity()
	for key := range c.granted {
		granted := c.granted[key].Load()
		reply, err := conn.do(c.command(c.trio.peek, key, 0)...)
		if err != nil {
			return result, err
		}
		used, err := c.trio.used(reply, capacity)
		if err != nil {
			return result, err
		}
		result.forgotten += max(0, granted-used)
		if rest := capacity - used; rest > 0 {
			if reply, err = conn.do(c.command(c.trio.take, key, rest)...); err != nil {
				return result, err
			}
			if !allowed(reply) {
				return result, fmt.Errorf("the last %d permits of %d were answered %v", rest, capacity, reply)
			}
			granted += rest
		}
		result.over += max(0, granted-capacity)
		result.worst = max(result.worst, float64(granted)/float64(capacity))
	}
	return result, nil
}
