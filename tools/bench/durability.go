package main

import (
	"context"
	"fmt"
)

// A mode is a server with its fsync policy.
type mode struct {
	product product
	fsync   string // always, everysec or no; empty: in memory only
}

// modes are all modes that are measured, in this order, round by round.
var modes = []mode{
	{limitsrv, ""}, {limitsrv, "everysec"}, {limitsrv, "no"}, {limitsrv, "always"},
	{redisLua, "everysec"}, {redisLua, "always"},
}

// A comparison is a pair of modes; the report has their ratio.
type comparison struct {
	table      tableID
	one, other mode
	against    string // other, in the name of a goal
}

// comparisons compare limitsrv with Redis at the same fsync policy, and with itself
// without state on disk.
var comparisons = []comparison{
	{mainTable, mode{limitsrv, "everysec"}, mode{redisLua, "everysec"}, "Redis' everysec"},
	{mainTable, mode{limitsrv, "always"}, mode{redisLua, "always"}, "Redis' always"},
	{memoryTable, mode{limitsrv, "everysec"}, mode{limitsrv, ""}, "in memory"},
	{memoryTable, mode{limitsrv, "no"}, mode{limitsrv, ""}, "in memory"},
	{memoryTable, mode{limitsrv, "always"}, mode{limitsrv, ""}, "in memory"},
}

// A durabilityResult is the runs of a load in every mode, round by round.
type durabilityResult struct {
	load   load
	rounds map[mode][]sample
}

// options returns the server's options for this mode, with its state in dir.
func (m mode) options(dir string) []string {
	switch {
	case m.fsync == "":
		return nil
	case m.product == redisLua:
		return []string{"--dir", dir, "--appendonly", "yes", "--appendfsync", m.fsync}
	}
	return []string{"--data", dir, "--fsync", m.fsync}
}

// durability measures all modes. Their servers run throughout.
func durability(ctx context.Context, e *env) error {
	var sides []*side
	for _, m := range modes {
		dir, err := e.state()
		if err != nil {
			return err
		}
		s, err := e.start(ctx, m.product, "", m.options(dir)...)
		if err != nil {
			return err
		}
		e.say("filling %s", m)
		if err := s.prepare(ctx, usualLoad(lastingBucket, 1, e.keys)); err != nil {
			return err
		}
		sides = append(sides, s)
	}
	var all []durabilityResult
	for _, pipeline := range e.pipelines {
		var (
			got        = durabilityResult{usualLoad(lastingBucket, pipeline, e.keys), map[mode][]sample{}}
			contenders []contender
		)
		for _, s := range sides {
			contenders = append(contenders, contender{s, got.load})
		}
		runs, err := e.alternate(ctx, e.duration, contenders...)
		if err != nil {
			return err
		}
		for i, m := range modes {
			got.rounds[m] = runs[i]
			e.say("%s: %s", m, sideText(runs[i]))
		}
		all = append(all, got)
	}
	e.addDurability(all)
	return nil
}

// addDurability adds a row for each comparison at each pipeline depth.
func (e *env) addDurability(all []durabilityResult) {
	for _, c := range comparisons {
		for _, d := range all {
			one, other := d.rounds[c.one], d.rounds[c.other]
			e.add(c.table, pairRow("fsync "+c.one.fsync+", "+d.load.String(), one, other)...)
			if d.load.keys == goalKeys {
				e.recordRatio(fmt.Sprintf("fsync %s over %s, pipeline %d", c.one.fsync, c.against, d.load.pipeline),
					speedup(one, other))
			}
		}
	}
}

// String names the mode in messages.
func (m mode) String() string {
	if m.fsync == "" {
		return string(m.product) + " in memory"
	}
	return string(m.product) + " " + m.fsync
}
