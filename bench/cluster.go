package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A team is one node or three that keep the same limits, and what it was measured.
type team struct {
	name  string
	bouts []bout // in the order of demands
	nodes []*process
	// entry are where it is asked: at the leader, and at a follower if there is one.
	entry map[door]*side
}

// A door is the node of a team that is asked.
type door string

const (
	leaderDoor   door = "leader"
	followerDoor door = "follower"
)

// A demand is a load at a door.
type demand struct {
	door door
	load load
	open bool // requests come when they are due, not when others are answered
}

// A bout is the runs of one demand, round by round; none if the team has no such
// door.
type bout []effort

// An effort is one run, and what processor time it took per decision.
type effort struct {
	outcome
	nodes     []time.Duration // of the node asked, of the leader if that is another one, and of the rest
	generator time.Duration   // of what makes the load
}

// cores is how many the load generator took: with one thread, it is itself what
// is measured when that comes close to one.
func (e effort) cores() float64 { return e.generator.Seconds() * e.perSecond }

// demands are all that a team is measured under.
func demands(keys int) []demand {
	few := load{lastingBucket, uniform, 16, 32, keys}
	single := load{lastingBucket, uniform, 50, 1, keys}
	return []demand{
		{leaderDoor, few, false}, {leaderDoor, single, false},
		{followerDoor, few, false}, {followerDoor, single, false},
		{leaderDoor, load{lastingBucket, uniform, 64, 8, keys}, true},
	}
}

// measureCluster measures one node in memory, and three by what they acknowledge,
// in turn. All run from the first to the last.
func measureCluster(ctx context.Context, o options, binary string, d disk, say func(string, ...any)) ([]team, error) {
	starts := []func() (team, error){
		func() (team, error) { return soloTeam(ctx, binary) },
		func() (team, error) {
			return trioTeam(ctx, binary, d, "in memory", "--ack", "memory", "--fsync", "no")
		},
		func() (team, error) { return trioTeam(ctx, binary, d, "on disk", "--ack", "disk") },
	}
	var teams []team
	for _, start := range starts {
		t, err := start()
		if err != nil {
			return nil, err
		}
		defer t.stop()
		say("filling %s", t.name)
		if err := prepare(ctx, t.entry[leaderDoor], demands(o.keys)[0].load); err != nil {
			return nil, fmt.Errorf("%s: %w", t.name, err)
		}
		teams = append(teams, t)
	}
	for i, want := range demands(o.keys) {
		for j := range teams {
			teams[j].bouts = append(teams[j].bouts, nil)
		}
		for range o.rounds {
			for j := range teams {
				if err := teams[j].try(ctx, o, i, want); err != nil {
					return nil, fmt.Errorf("%s, %s: %w", teams[j].name, want, err)
				}
			}
		}
		for _, t := range teams {
			if rates := t.bouts[i].rates(); len(rates) > 0 {
				say("%s: %s/s by %s", want, countText(figureOf(rates).median), t.name)
			}
		}
	}
	return teams, nil
}

// soloTeam starts one node.
func soloTeam(ctx context.Context, binary string) (team, error) {
	s, err := startLimitsrv(ctx, binary)
	if err != nil {
		return team{}, err
	}
	return team{name: "one node, in memory", nodes: []*process{s.process}, entry: map[door]*side{leaderDoor: s}}, nil
}

// trioTeam starts three nodes that acknowledge a decision once two have it in memory
// or on disk, as options say.
func trioTeam(ctx context.Context, binary string, d disk, where string, options ...string) (team, error) {
	name := "three nodes, acknowledged " + where
	dir, err := d.sub("cluster-" + options[1])
	if err != nil {
		return team{}, err
	}
	trio, err := startLimitsrvTrio(ctx, binary, name, dir, nil, options...)
	if err != nil {
		return team{}, err
	}
	t := team{name: name, nodes: trio.servers, entry: map[door]*side{}}
	leader, err := trio.leader(everyHost)
	if err == nil {
		t.entry[leaderDoor], err = limitsrvAt(trio.servers[leader])
	}
	if err == nil {
		t.entry[followerDoor], err = limitsrvAt(trio.servers[(leader+1)%len(trio.servers)])
	}
	if err != nil {
		t.stop()
	}
	return t, err
}

// stop ends all nodes.
func (t *team) stop() {
	for _, p := range t.nodes {
		p.stop()
	}
}

// try is one run of the i-th demand.
func (t *team) try(ctx context.Context, o options, i int, want demand) error {
	s := t.entry[want.door]
	if s == nil {
		return nil
	}
	m := &meter{side: s, load: want.load, lasting: o.duration}
	if runs := t.bouts[i].rates(); len(runs) > 0 {
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
	e := effort{}
	if want.open {
		e.outcome, err = arrive(ctx, s, want.load, o)
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
	t.bouts[i] = append(t.bouts[i], e)
	return nil
}

// order is all nodes: the one that is asked, the leader if that is another one, and the rest.
func (t *team) order(asked *process) []*process {
	all := []*process{asked}
	for _, p := range append([]*process{t.entry[leaderDoor].process}, t.nodes...) {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// cpus are the processor times of some nodes.
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

// arrive has requests come at a fixed rate. The latencies are from when each was
// due.
func arrive(ctx context.Context, s *side, l load, o options) (outcome, error) {
	var w watcher
	begin := time.Now()
	w.open()
	err := alongside(ctx, func() error { return sleep(ctx, o.duration) }, func(ctx context.Context) error {
		return hold(ctx, s, l, float64(o.arrivals), &w)
	})
	seen := w.latency()
	return outcome{
		decisions: w.seen.total, perSecond: float64(w.seen.total) / time.Since(begin).Seconds(),
		p50: seen.p50, p99: seen.p99, p999: seen.p999,
	}, err
}

// rates are the decisions per second of each run.
func (b bout) rates() (all []float64) {
	for _, e := range b {
		all = append(all, e.perSecond)
	}
	return all
}

// String names the demand in the table.
func (d demand) String() string {
	if d.open {
		return fmt.Sprintf("%s, fixed rate, %d conn", d.door, d.load.connections)
	}
	return fmt.Sprintf("%s, %d conn, pipeline %d", d.door, d.load.connections, d.load.pipeline)
}
