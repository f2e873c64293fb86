package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A mode is a server, and when it has the disk take what it writes.
type mode struct {
	product product
	fsync   string // always, everysec or no; empty: all is in memory
}

// A product is what is measured.
type product string

const (
	limitsrv product = "limitsrv"
	redisLua product = "Redis + Lua"
)

// modes are all that the durability is measured in, in this order, round by round.
var modes = []mode{
	{limitsrv, ""}, {limitsrv, "everysec"}, {limitsrv, "no"}, {limitsrv, "always"},
	{redisLua, "everysec"}, {redisLua, "always"},
}

// A comparison is two modes whose ratio tells something.
type comparison struct{ one, other mode }

var (
	// besideRedis are ours beside theirs, both as safe as each other.
	besideRedis = []comparison{
		{mode{limitsrv, "everysec"}, mode{redisLua, "everysec"}},
		{mode{limitsrv, "always"}, mode{redisLua, "always"}},
	}
	// besideMemory are what it costs us to keep state.
	besideMemory = []comparison{
		{mode{limitsrv, "everysec"}, mode{limitsrv, ""}},
		{mode{limitsrv, "no"}, mode{limitsrv, ""}},
		{mode{limitsrv, "always"}, mode{limitsrv, ""}},
	}
)

// A standing is the runs of one load in every mode, round by round.
type standing struct {
	load   load
	rounds map[mode][]sample
}

// duel is the two modes of a comparison.
func (s standing) duel(c comparison) duel {
	return duel{s.load, s.rounds[c.one], s.rounds[c.other]}
}

// durabilityConnections is how many connections ask.
const durabilityConnections = 50

// durabilityLoad is asked for at one depth of pipeline.
func durabilityLoad(keys, pipeline int) load {
	return load{lastingBucket, uniform, durabilityConnections, pipeline, keys}
}

// open starts a server in this mode, its state in a new directory of d.
func (m mode) open(ctx context.Context, binary string, d disk) (*side, error) {
	dir, err := d.sub("durability-" + m.word())
	if err != nil {
		return nil, err
	}
	return m.start(ctx, binary, dir)
}

// start starts a server in this mode, its state in dir.
func (m mode) start(ctx context.Context, binary, dir string) (*side, error) {
	if m.product == redisLua {
		return startRedis(ctx, dir, m.options(dir)...)
	}
	return startLimitsrv(ctx, binary, m.options(dir)...)
}

// options are those of the server that make it keep its state in dir, if it is to.
func (m mode) options(dir string) []string {
	switch {
	case m.fsync == "":
		return nil
	case m.product == redisLua:
		return []string{"--appendonly", "yes", "--appendfsync", m.fsync}
	}
	return []string{"--data", dir, "--fsync", m.fsync}
}

// durability measures all modes, whose servers run from the first to the last.
func durability(ctx context.Context, o options, binary string, d disk, say func(string, ...any)) ([]standing, error) {
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
	var all []standing
	for _, pipeline := range o.pipelines {
		st, err := stand(ctx, o, durabilityLoad(o.keys, pipeline), sides)
		if err != nil {
			return all, err
		}
		all = append(all, st)
		for _, c := range slices.Concat(besideRedis, besideMemory) {
			say("%s: %s at %.2fx of %s", st.load, c.one, st.duel(c).faster().median, c.other)
		}
	}
	return all, nil
}

// stand runs the rounds of one load, each through all modes.
func stand(ctx context.Context, o options, l load, sides map[mode]*side) (standing, error) {
	st := standing{load: l, rounds: map[mode][]sample{}}
	meters := map[mode]*meter{}
	for _, m := range modes {
		meters[m] = &meter{side: sides[m], load: l, lasting: o.duration}
		if err := meters[m].warm(ctx); err != nil {
			return st, fmt.Errorf("%s: %w", m, err)
		}
	}
	for range o.rounds {
		for _, m := range modes {
			if err := calm(ctx, sides); err != nil {
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

// calm waits until no server writes its state any more, and no disk what was
// written, so that no run pays for another.
func calm(ctx context.Context, sides map[mode]*side) error {
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
