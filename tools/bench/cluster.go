package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A deployment is one node, or a cluster of three, with its measurements.
type deployment struct {
	name  string
	runs  []clusterRuns // in the order of clusterLoads
	nodes []*process
	// entries are the nodes that receive requests: the leader, and a follower if there
	// is one.
	entries map[entryNode]*side
}

// An entryNode is the node of a deployment that receives the requests.
type entryNode string

const (
	leaderEntry   entryNode = "leader"
	followerEntry entryNode = "follower"
)

// A clusterLoad is a load at an entry node.
type clusterLoad struct {
	entry entryNode
	load  load
	open  bool // requests are sent at a fixed rate, independently of replies
}

// clusterRuns are the runs of one load, round by round. They are empty if the
// deployment has no such entry node.
type clusterRuns []clusterRun

// A clusterRun is one run, with its processor time per decision.
type clusterRun struct {
	outcome
	nodes     []time.Duration // of the entry node, of the leader if different, and of the others
	generator time.Duration   // of the load generator
}

// cores returns the number of cores used by the load generator. It has one thread, so
// near 1 it is the bottleneck.
func (e clusterRun) cores() float64 { return e.generator.Seconds() * e.perSecond }

// clusterLoads are the loads of each deployment.
func clusterLoads(keys int) []clusterLoad {
	few := load{lastingBucket, uniform, 16, 32, keys}
	single := load{lastingBucket, uniform, 50, 1, keys}
	return []clusterLoad{
		{leaderEntry, few, false}, {leaderEntry, single, false},
		{followerEntry, few, false}, {followerEntry, single, false},
		{leaderEntry, load{lastingBucket, uniform, 64, 8, keys}, true},
	}
}

// measureCluster measures one node in memory, and three nodes with each kind of
// acknowledgement, in alternating rounds. All servers run throughout.
func measureCluster(ctx context.Context, o options, binary string, d disk, say func(string, ...any)) ([]deployment, error) {
	starts := []func() (deployment, error){
		func() (deployment, error) { return startSingleNode(ctx, binary) },
		func() (deployment, error) {
			return startThreeNodes(ctx, binary, d, "in memory", "--ack", "memory", "--fsync", "no")
		},
		func() (deployment, error) { return startThreeNodes(ctx, binary, d, "on disk", "--ack", "disk") },
	}
	var deployments []deployment
	for _, start := range starts {
		t, err := start()
		if err != nil {
			return nil, err
		}
		defer t.stop()
		say("filling %s", t.name)
		if err := prepare(ctx, t.entries[leaderEntry], clusterLoads(o.keys)[0].load); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		deployments = append(deployments, t)
	}
	for i, want := range clusterLoads(o.keys) {
		for j := range deployments {
			deployments[j].runs = append(deployments[j].runs, nil)
		}
		for range o.rounds {
			for j := range deployments {
				if err := deployments[j].run(ctx, o, i, want); err != nil {
					return nil, fmt.Errorf("%s, %s: %w", deployments[j].name, want, err)
				}
			}
		}
		for _, t := range deployments {
			if rates := t.runs[i].rates(); len(rates) > 0 {
				say("%s: %s/s by %s", want, countText(figureOf(rates).median), t.name)
			}
		}
	}
	return deployments, nil
}

// startSingleNode starts one node.
func startSingleNode(ctx context.Context, binary string) (deployment, error) {
	s, err := startLimitsrv(ctx, binary)
	if err != nil {
		return deployment{}, err
	}
	return deployment{name: "one node, in memory", nodes: []*process{s.process}, entries: map[entryNode]*side{leaderEntry: s}}, nil
}

// startThreeNodes starts a cluster of three that acknowledges a decision once two nodes
// have it in memory or on disk, according to options.
func startThreeNodes(ctx context.Context, binary string, d disk, where string, options ...string) (deployment, error) {
	name := "three nodes, acknowledged " + where
	dir, err := d.sub("cluster-" + options[1])
	if err != nil {
		return deployment{}, err
	}
	trio, err := startLimitsrvTrio(ctx, binary, name, dir, nil, options...)
	if err != nil {
		return deployment{}, err
	}
	t := deployment{name: name, nodes: trio.servers, entries: map[entryNode]*side{}}
	leader, err := trio.leader(everyHost)
	if err == nil {
		t.entries[leaderEntry], err = limitsrvAt(trio.servers[leader])
	}
	if err == nil {
		t.entries[followerEntry], err = limitsrvAt(trio.servers[(leader+1)%len(trio.servers)])
	}
	if err != nil {
		t.stop()
	}
	return t, err
}

// stop stops all nodes.
func (t *deployment) stop() {
	for _, p := range t.nodes {
		p.stop()
	}
}

// run measures the i-th load once.
func (t *deployment) run(ctx context.Context, o options, i int, want clusterLoad) error {
	s := t.entries[want.entry]
	if s == nil {
		return nil
	}
	m := &meter{side: s, load: want.load, lasting: o.duration}
	if runs := t.runs[i].rates(); len(runs) > 0 {
		m.rate = runs[len(runs)-1]
	} else if !want.open {
		if err := m.warm(ctx); err != nil {
			return err
		}
	}
	flushAll()
	nodes := t.order(s.process)
	before, err := cpus(nodes)
	if err != nil {
		return err
	}
	beforeOwn := ownCPU()
	e := clusterRun{}
	if want.open {
		e.outcome, err = runAtFixedRate(ctx, s, want.load, o)
	} else {
		e.outcome, err = m.run(ctx, o.duration)
	}
	if err != nil {
		return err
	}
	after, err := cpus(nodes)
	if err != nil {
		return err
	}
	n := time.Duration(max(1, e.decisions))
	for i := range after {
		e.nodes = append(e.nodes, (after[i]-before[i])/n)
	}
	e.generator = (ownCPU() - beforeOwn) / n
	t.runs[i] = append(t.runs[i], e)
	return nil
}

// order returns all nodes: first asked, then the leader if different, then the others.
func (t *deployment) order(asked *process) []*process {
	all := []*process{asked}
	for _, p := range append([]*process{t.entries[leaderEntry].process}, t.nodes...) {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// cpus returns the processor time of each node.
func cpus(nodes []*process) (all []time.Duration, err error) {
	for _, p := range nodes {
		used, err := p.cpu()
		if err != nil {
			return nil, err
		}
		all = append(all, used)
	}
	return all, nil
}

// runAtFixedRate sends requests at a fixed rate. Latencies count from the due time of
// each request.
func runAtFixedRate(ctx context.Context, s *side, l load, o options) (outcome, error) {
	var w watcher
	begin := time.Now()
	w.open()
	err := alongside(ctx, func() error { return sleep(ctx, o.duration) }, func(ctx context.Context) error {
		return runSteady(ctx, s, l, float64(o.arrivals), &w)
	})
	seen := w.latency()
	return outcome{
		decisions: w.seen.total, perSecond: float64(w.seen.total) / time.Since(begin).Seconds(),
		p50: seen.p50, p99: seen.p99, p999: seen.p999,
	}, err
}

// rates returns the decisions per second of each run.
func (b clusterRuns) rates() (all []float64) {
	for _, e := range b {
		all = append(all, e.perSecond)
	}
	return all
}

// String names the load in the table.
func (d clusterLoad) String() string {
	if d.open {
		return fmt.Sprintf("%s, fixed rate, %d conn", d.entry, d.load.connections)
	}
	return fmt.Sprintf("%s, %d conn, pipeline %d", d.entry, d.load.connections, d.load.pipeline)
}
