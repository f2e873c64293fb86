package main

import (
	"context"
	"fmt"
	"strings"
)

// clusterLegend describes the columns of the table.
const clusterLegend = `Nodes of limitsrv: decisions per second, p50 / p99 / p99.9 of the latency (pipelined: of the pipeline; at a fixed rate:
from the due time), CPU per decision of the node asked + of the leader, if that is another one + of each other node,
and the share of a core used by the load generator. All share the machine. Medians of alternating rounds; "times one node"
is relative to the first column of figures, round by round.
`

// A deployment is a node, or a cluster of three.
type deployment struct {
	name     string
	leader   *side
	follower *side // nil: no follower
}

// asked returns the leader, or the follower if node is that.
func (d deployment) asked(node string) *side {
	if node == "follower" {
		return d.follower
	}
	return d.leader
}

// A clusterLoad is a load at a node of a deployment.
type clusterLoad struct {
	node string // leader or follower
	load load
}

// clusterLoads are the loads of each deployment. arrivals is the rate of the last load.
func clusterLoads(keys, arrivals int) []clusterLoad {
	few := load{algorithm: lastingBucket, distribution: uniform, connections: 16, pipeline: 32, keys: keys}
	single := usualLoad(lastingBucket, 1, keys)
	steady := load{algorithm: lastingBucket, distribution: uniform, connections: 64, pipeline: 8, keys: keys,
		rate: float64(arrivals)}
	return []clusterLoad{{"leader", few}, {"leader", single}, {"follower", few}, {"follower", single}, {"leader", steady}}
}

// String names the load in the table.
func (c clusterLoad) String() string {
	if c.load.rate > 0 {
		return fmt.Sprintf("%s, fixed rate, %d conn, %s/s", c.node, c.load.connections, countText(c.load.rate))
	}
	return fmt.Sprintf("%s, %d conn, pipeline %d", c.node, c.load.connections, c.load.pipeline)
}

// cluster measures a node in memory, and three nodes with each kind of acknowledgement. All
// servers run throughout.
func cluster(ctx context.Context, e *env) error {
	single, err := e.start(ctx, limitsrv, "")
	if err != nil {
		return err
	}
	all := []deployment{{name: "one node, in memory", leader: single}}
	for _, c := range []struct {
		where   string
		options []string
	}{{"in memory", []string{"--ack", "memory", "--fsync", "no"}}, {"on disk", []string{"--ack", "disk"}}} {
		d, err := e.startCluster(ctx, "three nodes, acknowledged "+c.where, c.options...)
		if err != nil {
			return err
		}
		all = append(all, d)
	}
	head := row{"node asked"}
	for i, d := range all {
		if head = append(head, d.name); i > 0 {
			head = append(head, "times one node")
		}
		e.say("filling %s", d.name)
		if err := d.leader.prepare(ctx, clusterLoads(e.keys, e.arrivals)[0].load); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
	}
	e.add(clusterTable, head...)
	for _, c := range clusterLoads(e.keys, e.arrivals) {
		var contenders []contender
		for _, d := range all {
			contenders = append(contenders, contender{d.asked(c.node), c.load})
		}
		runs, err := e.alternate(ctx, e.duration, contenders...)
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		e.add(clusterTable, clusterRow(c.String(), runs)...)
	}
	return nil
}

// startCluster starts three nodes that acknowledge a decision once two have it in memory
// or on disk, according to options.
func (e *env) startCluster(ctx context.Context, name string, options ...string) (d deployment, err error) {
	d.name = name
	dir, err := e.state()
	if err != nil {
		return d, err
	}
	t, err := e.startLimitsrvTrio(ctx, dir, nil, options...)
	if err != nil {
		return d, err
	}
	leader, err := t.leader(everyHost)
	if err != nil {
		return d, err
	}
	// node returns the side of a server, with the leader as the next of its nodes.
	node := func(i int) (*side, error) {
		s, err := newSide(limitsrv, t.servers[i], "")
		if err != nil {
			return nil, err
		}
		for _, other := range append([]int{leader}, without(everyHost, leader)...) {
			if other != i {
				s.nodes = append(s.nodes, t.servers[other])
			}
		}
		return s, nil
	}
	if d.leader, err = node(leader); err == nil {
		d.follower, err = node((leader + 1) % len(t.servers))
	}
	if err != nil {
		return d, err
	}
	return d, d.leader.awaitLevel(ctx)
}

// awaitLevel waits until a node carries out commands that nodes of older versions lack. A node that
// follows asks the leader.
func (s *side) awaitLevel(ctx context.Context) error {
	return eventually(ctx, func() error {
		_, err := s.ask("SET", "bench:level", "1")
		if err == nil {
			_, err = s.ask("DEL", "bench:level")
		}
		return err
	})
}

// clusterRow compares the samples of each deployment with the samples of the first.
func clusterRow(name string, runs [][]sample) row {
	cells := row{name}
	for i, rounds := range runs {
		if cells = append(cells, clusterText(rounds)); i > 0 {
			cells = append(cells, ratioText(speedup(rounds, runs[0])))
		}
	}
	return cells
}

// clusterText summarizes the rounds of a deployment.
func clusterText(rounds []sample) string {
	if len(rounds) == 0 {
		return "-"
	}
	var nodes []string
	for i := range rounds[0].cpu {
		nodes = append(nodes, fmt.Sprintf("%.2f", median(rounds, func(s sample) float64 { return s.cpu[i].Seconds() * 1e6 })))
	}
	rate := figureOf(column(rounds, perSecond))
	return fmt.Sprintf("%s/s ±%.0f %%, %s, %s µs, load %.2f", countText(rate.median), rate.spread*100,
		waitsText(rounds), strings.Join(nodes, " + "), median(rounds, sample.cores))
}

// cores returns the number of cores used by the load generator. It has one thread, so
// near 1 it is the bottleneck.
func (s sample) cores() float64 { return s.generator.Seconds() * s.perSecond }
