package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// A fault is what happens to the leader of a trio.
type fault string

const (
	// killed: its machine dies, with all that it has sent and not yet delivered.
	killed fault = "killed"
	// isolated: the others do not reach it for a while, but half of the clients do,
	// and only it.
	isolated fault = "isolated"
)

// faults are all, in this order.
var faults = []fault{killed, isolated}

// A contender is one way to keep limits on three servers.
type contender struct {
	name  string
	start func(ctx context.Context, binary, dir string) (*trio, error)
}

// contenders are all that go through the faults.
var contenders = []contender{
	{"limitsrv", func(ctx context.Context, binary, dir string) (*trio, error) {
		return startLimitsrvTrio(ctx, binary, "limitsrv", dir, newTrioNetwork())
	}},
	{"Redis + Sentinel", func(ctx context.Context, _, dir string) (*trio, error) {
		return startRedisTrio(ctx, "Redis + Sentinel", dir)
	}},
	{"the same, min-replicas-to-write 1", func(ctx context.Context, _, dir string) (*trio, error) {
		return startRedisTrio(ctx, "the same, min-replicas-to-write 1", dir,
			"--min-replicas-to-write", "1", "--min-replicas-max-lag", "1")
	}},
}

// A drill is how a fault is gone through.
type drill struct {
	clients  int
	pipeline int
	rate     int // permits asked for per second, over all clients
	keys     int
	before   time.Duration // from the start of the load to the fault
	during   time.Duration // for which an isolated leader is so
	after    time.Duration
}

// longDrill is for figures. A leader that is isolated comes back well after another
// was found.
var longDrill = drill{16, 16, 50_000, 100, 2 * time.Second, 4 * time.Second, 4 * time.Second}

// capacity is that of each key: some are used up before the load ends, wherever
// nothing is given twice.
func (d drill) capacity() int64 {
	asked := float64(d.rate) * (d.before + d.during + d.after).Seconds()
	return int64(0.7 * asked / float64(d.keys))
}

// An ordeal is what came of one fault.
type ordeal struct {
	granted int64 // permits, in all
	// over are those beyond the capacities of their keys, once these were emptied,
	// and worst is the largest share of its capacity that a key gave.
	over  int64
	worst float64
	// forgotten are those granted that the servers no longer knew of at the end of
	// the load. It is too low by what was done and never answered.
	forgotten int64
	refused   int64         // requests that were answered an error, or not at all
	outage    time.Duration // until another server than the leader decided
}

// A plight is the ordeals of one contender with one fault.
type plight struct {
	contender string
	fault     fault
	rounds    []ordeal
}

// failover takes all contenders through all faults, round by round.
func failover(ctx context.Context, o options, binary, dir string, say func(string, ...any)) ([]plight, error) {
	var all []plight
	for _, f := range faults {
		for _, c := range contenders {
			all = append(all, plight{contender: c.name, fault: f})
		}
	}
	for round := range o.rounds {
		for i := range all {
			p, c := &all[i], contenders[i%len(contenders)]
			got, err := undergo(ctx, c, p.fault, o.drill, binary, filepath.Join(dir, fmt.Sprintf("failover-%d-%d", round, i)))
			if err != nil {
				return all, fmt.Errorf("%s, leader %s: %w", c.name, p.fault, err)
			}
			p.rounds = append(p.rounds, got)
			say("%s, leader %s: %d beyond capacity, %v without decisions", c.name, p.fault, got.over, got.outage)
		}
	}
	return all, nil
}

// undergo takes one contender through one fault.
func undergo(ctx context.Context, c contender, f fault, d drill, binary, dir string) (ordeal, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return ordeal{}, err
	}
	t, err := c.start(ctx, binary, dir)
	if err != nil {
		return ordeal{}, err
	}
	defer t.stop()
	leader, err := t.leader(everyHost)
	if err != nil {
		return ordeal{}, err
	}
	crowd := newCrowd(t, d, leader)
	if err := crowd.press(ctx, f); err != nil {
		return ordeal{}, err
	}
	remaining := everyHost
	if f == killed {
		remaining = without(everyHost, leader)
	}
	return crowd.settle(ctx, remaining)
}

// press has all clients take while the fault comes and, if it does so, goes.
func (c *crowd) press(ctx context.Context, f fault) error {
	t := c.trio
	return alongside(ctx, func() error {
		if err := sleep(ctx, c.drill.before); err != nil {
			return err
		}
		begin := time.Now()
		t.network.Isolate(hosts[c.leader])
		if f == killed {
			t.servers[c.leader].stop()
		}
		c.strike(f, begin)
		if err := sleep(ctx, c.drill.during); err != nil {
			return err
		}
		if f == isolated {
			t.network.Heal()
			c.mend()
		}
		return sleep(ctx, c.drill.after)
	}, c.takers()...)
}

// settle finds out what the servers know of what they granted, and empties every
// key.
func (c *crowd) settle(ctx context.Context, servers []int) (ordeal, error) {
	if err := eventually(ctx, func() error { _, err := c.trio.leader(servers); return err }); err != nil {
		return ordeal{}, err
	}
	leader, err := c.trio.leader(servers)
	if err != nil {
		return ordeal{}, err
	}
	conn, err := dial(c.trio.servers[leader].address)
	if err != nil {
		return ordeal{}, err
	}
	defer conn.conn.Close()
	conn.conn.SetDeadline(time.Now().Add(trioWait))
	if c.firstElsewhere.Load() == 0 {
		return ordeal{}, fmt.Errorf("no other server decided within %v", c.drill.during+c.drill.after)
	}
	result := ordeal{refused: c.refused.Load(), outage: time.Duration(c.firstElsewhere.Load())}
	capacity := c.drill.capacity()
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
				return result, fmt.Errorf("%d permits of %d that were left were answered %v", rest, capacity, reply)
			}
			granted += rest
		}
		result.granted += granted
		result.over += max(0, granted-capacity)
		result.worst = max(result.worst, float64(granted)/float64(capacity))
	}
	return result, nil
}

// scatteredKeys draws keys, the same for a client in every run.
func scatteredKeys(client int) *rand.Rand { return rand.New(rand.NewPCG(1, uint64(client))) }
