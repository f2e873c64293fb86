package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"
)

// defaults are the options of the README's figures.
var defaults = options{
	parts:         experimentsWithout(hugeName, profileName),
	algorithms:    list[algorithm]{tokenBucket, slidingLog},
	distributions: list[distribution]{uniform, zipf},
	connections:   list[int]{1, 50, 500},
	pipelines:     list[int]{1, 16, 64},
	keys:          1_000_000,
	rounds:        3,
	duration:      2 * time.Second,
	sizes:         list[int]{1_000_000, 3_000_000, 10_000_000},
	snapshotKeys:  10_000_000,
	hugeKeys:      hugeGoalKeys,
	rate:          20_000,
	watch:         10 * time.Second,
	failover:      defaultFailover,
	stress:        longStress,
	arrivals:      100_000,
	timeout:       2 * time.Hour,
}

// smoke are the options of -quick: a check that every experiment runs, except for
// failover, which has a fixed duration. Its figures mean nothing.
var smoke = options{
	parts:         experimentsWithout(failoverName),
	algorithms:    defaults.algorithms,
	distributions: defaults.distributions,
	connections:   list[int]{50},
	pipelines:     list[int]{1, 64},
	keys:          10_000,
	rounds:        1,
	duration:      200 * time.Millisecond,
	sizes:         list[int]{10_000, 50_000},
	snapshotKeys:  10_000,
	hugeKeys:      10_000,
	rate:          5000,
	watch:         200 * time.Millisecond,
	failover:      defaultFailover,
	stress:        shortStress,
	arrivals:      5000,
	timeout:       10 * time.Minute,
	quick:         true,
}

// parseOptions parses the command line. -quick changes the defaults of all other flags,
// regardless of its position.
func parseOptions(args []string, out io.Writer) (options, error) {
	o := defaults
	if slices.ContainsFunc(args, func(a string) bool { return a == "-quick" || a == "--quick" }) {
		o = smoke
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, "go run ./tools/bench measures limitsrv beside Redis with Lua scripts and prints a table.\n\n")
		flags.PrintDefaults()
	}
	flags.Var(&o.parts, "only", "the `experiments` to run:\n"+usageOfExperiments())
	flags.Var(&o.algorithms, "algorithms", "`names`: token, log")
	flags.Var(&o.distributions, "distributions", "of keys, `names`: uniform, zipf")
	flags.Var(&o.connections, "conns", "`numbers` of connections")
	flags.Var(&o.pipelines, "pipelines", "`depths`: requests that a connection sends before it waits")
	flags.IntVar(&o.keys, "keys", o.keys, "number of keys for throughput and durability")
	flags.IntVar(&o.rounds, "rounds", o.rounds, "runs of each load on each side, and number of snapshots of each")
	flags.DurationVar(&o.duration, "duration", o.duration, "approximate duration of one run")
	flags.Var(&o.sizes, "sizes", "ascending `numbers` of keys at which memory is measured")
	flags.IntVar(&o.snapshotKeys, "snapshot-keys", o.snapshotKeys, "number of keys in a snapshot")
	flags.IntVar(&o.hugeKeys, "huge-keys", o.hugeKeys, "number of keys of the experiment "+hugeName)
	flags.IntVar(&o.rate, "rate", o.rate, "decisions per second while snapshots are written")
	flags.IntVar(&o.arrivals, "arrivals", o.arrivals, "decisions per second for the latency of three nodes")
	flags.IntVar(&o.stress.connections, "siege-conns", o.stress.connections,
		"number of connections of the experiment siege")
	flags.IntVar(&o.stress.floodKeys, "flood-keys", o.stress.floodKeys, "distinct keys of each flood")
	flags.DurationVar(&o.watch, "watch", o.watch,
		"duration of that load before a snapshot, of the load before a kill, and of the clients beside each hostile script")
	flags.StringVar(&o.redisCell, "redis-cell", "",
		"the built `module` of redis-cell, to measure it as well in throughput")
	flags.StringVar(&o.profile, "profile", "",
		"the `file` to which the experiment "+profileName+" writes, such as cmd/limitsrv/default.pgo")
	flags.StringVar(&o.data, "data", "", "a `directory` on the disk for state (default that for temporary files)")
	flags.DurationVar(&o.timeout, "timeout", o.timeout, "time limit of the whole run")
	flags.BoolVar(&o.quick, "quick", o.quick, "run everything within a minute; the figures mean nothing")
	flags.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return o, o.check()
}

// check checks the range of every value.
func (o options) check() error {
	switch {
	case !subset(o.parts, experimentNames()):
		return fmt.Errorf("-only may name %v, got %v", experimentNames(), o.parts)
	case !subset(o.algorithms, defaults.algorithms):
		return fmt.Errorf("-algorithms may name %v, got %v", defaults.algorithms, o.algorithms)
	case !subset(o.distributions, defaults.distributions):
		return fmt.Errorf("-distributions may name %v, got %v", defaults.distributions, o.distributions)
	case !slices.IsSorted(o.sizes):
		return fmt.Errorf("-sizes must be ascending, got %v", o.sizes)
	case min(o.rounds, o.keys, o.snapshotKeys, o.hugeKeys, o.rate, o.arrivals) < 1 ||
		min(o.duration, o.watch, o.timeout) <= 0:
		return errors.New("-rounds, -keys, -snapshot-keys, -huge-keys, -rate, -arrivals, -duration, -watch and -timeout " +
			"must be above 0")
	}
	if n := o.stress.connections; n < 1 || n > maxStressConnections {
		return fmt.Errorf("-siege-conns must be 1 to %d, got %d", maxStressConnections, n)
	}
	if n := o.stress.floodKeys; n < o.stress.floodRounds {
		return fmt.Errorf("-flood-keys must be at least one for each of %d rounds, got %d", o.stress.floodRounds, n)
	}
	for _, n := range slices.Concat(o.connections, o.pipelines, o.sizes) {
		if n < 1 {
			return fmt.Errorf("-conns, -pipelines and -sizes must be above 0, got %d", n)
		}
	}
	return nil
}

// subset reports whether some is not empty and all of it is in known.
func subset[T comparable](some, known []T) bool {
	return len(some) > 0 && !slices.ContainsFunc(some, func(v T) bool { return !slices.Contains(known, v) })
}
