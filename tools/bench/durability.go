package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A mode is a server with its fsync policy.
type mode struct {
	product product
	fsync   string // always, everysec or no; empty: in memory only
}

// A product is a server under test.
type product string

const (
	limitsrv product = "limitsrv"
	redisLua product = "Redis + Lua"
)

// modes are all modes that are measured, in this order, round by round.
var modes = []mode{
	{limitsrv, ""}, {limitsrv, "everysec"}, {limitsrv, "no"}, {limitsrv, "always"},
	{redisLua, "everysec"}, {redisLua, "always"},
}

// A comparison is a pair of modes for which the ratio is reported.
type comparison struct{ one, other mode }

var (
	// againstRedis compare limitsrv with Redis at the same fsync policy.
	againstRedis = []comparison{
		{mode{limitsrv, "everysec"}, mode{redisLua, "everysec"}},
		{mode{limitsrv, "always"}, mode{redisLua, "always"}},
	}
	// againstMemory compare limitsrv with and without state on disk.
	againstMemory = []comparison{
		{mode{limitsrv, "everysec"}, mode{limitsrv, ""}},
		{mode{limitsrv, "no"}, mode{limitsrv, ""}},
		{mode{limitsrv, "always"}, mode{limitsrv, ""}},
	}
)

// A durabilityResult is the runs of one load in every mode, round by round.
type durabilityResult struct {
	load   load
	rounds map[mode][]sample
}

// pair returns the runs of the two modes of c.
func (s durabilityResult) pair(c comparison) pairedRuns {
	return pairedRuns{s.load, s.rounds[c.one], s.rounds[c.other]}
}

// durabilityConnections is the number of connections of the load.
const durabilityConnections = 50

// durabilityLoad is the load at one pipeline depth.
func durabilityLoad(keys, pipeline int) load {
	return load{lastingBucket, uniform, durabilityConnections, pipeline, keys}
}

// open starts a server in this mode, with its state in a new directory of d.
func (m mode) open(ctx context.Context, binary string, d disk) (*side, error) {
	dir, err := d.sub("durability-" + m.word())
	if err != nil {
		return nil, err
	}
	return m.start(ctx, binary, dir)
}

// start starts a server in this mode, with its state in dir.
func (m mode) start(ctx context.Context, binary, dir string) (*side, error) {
	if m.product == redisLua {
		return startRedis(ctx, dir, m.options(dir)...)
	}
	return startLimitsrv(ctx, binary, m.options(dir)...)
}

// options returns the server's options for this mode, with its state in dir.
func (m mode) options(dir string) []string {
	switch {
	case m.fsync == "":
		return nil
	case m.product == redisLua:
		return []string{"--appendonly", "yes", "--appendfsync", m.fsync}
	}
	return []string{"--data", dir, "--fsync", m.fsync}
}

// durability measures all modes. Their servers run throughout.
func durability(ctx context.Context, o options, binary string, d disk, say func(string, ...any)) ([]durabilityResult, error) {
	sides := map[mode]*side{}
	for _, m := range modes {
		s, err := m.open(ctx, binary, d)
		if err != nil {
			return nil, err
		}
		defer s.stop()
		say("filling %s", m)
		if err := prepare(ctx, s, durabilityLoad(o.keys, 1)); err != nil {
			return nil, err
		}
		sides[m] = s
	}
	var all []durabilityResult
	for _, pipeline := range o.pipelines {
		st, err := runModes(ctx, o, durabilityLoad(o.keys, pipeline), sides)
		if err != nil {
			return all, err
		}
		all = append(all, st)
		for _, c := range slices.Concat(againstRedis, againstMemory) {
			say("%s: %s at %.2fx of %s", st.load, c.one, st.pair(c).speedup().median, c.other)
		}
	}
	return all, nil
}

// runModes runs the rounds of one load, each through all modes.
func runModes(ctx context.Context, o options, l load, sides map[mode]*side) (durabilityResult, error) {
	st := durabilityResult{load: l, rounds: map[mode][]sample{}}
	meters := map[mode]*meter{}
	for _, m := range modes {
		meters[m] = &meter{side: sides[m], load: l, lasting: o.duration}
		if err := meters[m].warm(ctx); err != nil {
			return st, fmt.Errorf("%s: %w", m, err)
		}
	}
	for range o.rounds {
		for _, m := range modes {
			if err := quiesce(ctx, sides); err != nil {
				return st, err
			}
			got, err := meters[m].measure(ctx)
			if err != nil {
				return st, fmt.Errorf("%s: %w", m, err)
			}
			st.rounds[m] = append(st.rounds[m], got)
		}
	}
	return st, nil
}

// quiesce waits until no server is writing its state and all dirty pages are on disk,
// so that no run pays for another one.
func quiesce(ctx context.Context, sides map[mode]*side) error {
	for m, s := range sides {
		if err := s.rest(ctx); err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
	}
	flushAll()
	return nil
}

// word names the mode in a path.
func (m mode) word() string { return strings.NewReplacer(" ", "-", "+", "and").Replace(m.String()) }

// String names the mode in the table.
func (m mode) String() string {
	if m.fsync == "" {
		return string(m.product) + " in memory"
	}
	return string(m.product) + " " + m.fsync
}
