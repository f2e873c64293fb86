package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options say what is measured, and how long.
type options struct {
	parts         list[string]
	algorithms    list[algorithm]
	distributions list[distribution]
	connections   list[int]
	pipelines     list[int]
	keys          int
	rounds        int
	duration      time.Duration
	sizes         list[int]
	snapshotKeys  int
	rate          int
	watch         time.Duration
	drill         drill
	siege         besiege
	arrivals      int
	data          string
	timeout       time.Duration
	quick         bool
	markdown      bool
}

// The parts of the benchmark.
const (
	partThroughput = "throughput"
	partGrowth     = "growth"
	partDurability = "durability"
	partSnapshot   = "snapshot"
	partCluster    = "cluster"
	partFailover   = "failover"
	partSiege      = "siege"
)

// defaults are what is measured for the README.
var defaults = options{
	parts:         list[string]{partThroughput, partGrowth, partDurability, partSnapshot, partCluster, partFailover, partSiege},
	algorithms:    list[algorithm]{tokenBucket, slidingLog},
	distributions: list[distribution]{uniform, zipf},
	connections:   list[int]{1, 50, 500},
	pipelines:     list[int]{1, 16, 64},
	keys:          1_000_000,
	rounds:        3,
	duration:      2 * time.Second,
	sizes:         list[int]{1_000_000, 3_000_000, 10_000_000},
	snapshotKeys:  10_000_000,
	rate:          20_000,
	watch:         10 * time.Second,
	drill:         longDrill,
	siege:         longSiege,
	arrivals:      100_000,
	timeout:       2 * time.Hour,
}

// smoke is what -quick measures: that everything runs but for what takes long
// whatever is done, and nothing that means anything.
var smoke = options{
	parts:         list[string]{partThroughput, partGrowth, partDurability, partSnapshot, partCluster, partSiege},
	algorithms:    defaults.algorithms,
	distributions: defaults.distributions,
	connections:   list[int]{50},
	pipelines:     list[int]{1, 64},
	keys:          10_000,
	rounds:        1,
	duration:      200 * time.Millisecond,
	sizes:         list[int]{10_000, 50_000},
	snapshotKeys:  10_000,
	rate:          5000,
	watch:         200 * time.Millisecond,
	drill:         longDrill,
	siege:         shortSiege,
	arrivals:      5000,
	timeout:       10 * time.Minute,
	quick:         true,
}

// parseOptions reads the command line. -quick changes what the others default to,
// wherever it stands.
func parseOptions(args []string, out io.Writer) (options, error) {
	o := defaults
	if slices.ContainsFunc(args, func(a string) bool { return a == "-quick" || a == "--quick" }) {
		o = smoke
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, "go run ./bench measures limitsrv beside Redis with Lua scripts and prints a table.\n\n")
		flags.PrintDefaults()
	}
	flags.Var(&o.parts, "only", "the `parts` to run: throughput, growth (memory per key, pauses),\n"+
		"durability (speed by fsync), snapshot (pauses, disk, restarts),\n"+
		"cluster (speed of three nodes), failover (of three servers, beside Redis with Sentinel),\n"+
		"siege (many connections, key floods, clients that do harm)")
	flags.Var(&o.algorithms, "algorithms", "`names`: token, log")
	flags.Var(&o.distributions, "distributions", "of keys, `names`: uniform, zipf")
	flags.Var(&o.connections, "conns", "`numbers` of connections")
	flags.Var(&o.pipelines, "pipelines", "`depths`: requests that a connection sends before it waits")
	flags.IntVar(&o.keys, "keys", o.keys, "how many keys the throughput and the durability are measured over")
	flags.IntVar(&o.rounds, "rounds", o.rounds, "runs of each load on each side, and snapshots of each")
	flags.DurationVar(&o.duration, "duration", o.duration, "of one run, about")
	flags.Var(&o.sizes, "sizes", "`numbers` of keys, rising, at which memory is read")
	flags.IntVar(&o.snapshotKeys, "snapshot-keys", o.snapshotKeys, "how many keys a snapshot holds")
	flags.IntVar(&o.rate, "rate", o.rate, "decisions per second while snapshots are written")
	flags.IntVar(&o.arrivals, "arrivals", o.arrivals, "decisions per second for the latency of three nodes")
	flags.IntVar(&o.siege.connections, "siege-conns", o.siege.connections, "connections of a siege")
	flags.IntVar(&o.siege.floodKeys, "flood-keys", o.siege.floodKeys, "distinct keys of each flood")
	flags.DurationVar(&o.watch, "watch", o.watch, "how long that is watched before a snapshot, and a load runs before a kill")
	flags.StringVar(&o.data, "data", "", "a `directory` on the disk for state (default that for temporary files)")
	flags.DurationVar(&o.timeout, "timeout", o.timeout, "after which all is given up")
	flags.BoolVar(&o.quick, "quick", o.quick, "try everything out in a minute; the figures mean nothing")
	flags.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("there are no arguments but flags, got %q", flags.Arg(0))
	}
	return o, o.check()
}

// check holds every value against what it may be.
func (o options) check() error {
	switch {
	case !subset(o.parts, defaults.parts):
		return fmt.Errorf("-only may name %v, got %v", defaults.parts, o.parts)
	case !subset(o.algorithms, defaults.algorithms):
		return fmt.Errorf("-algorithms may name %v, got %v", defaults.algorithms, o.algorithms)
	case !subset(o.distributions, defaults.distributions):
		return fmt.Errorf("-distributions may name %v, got %v", defaults.distributions, o.distributions)
	case !slices.IsSorted(o.sizes):
		return fmt.Errorf("-sizes must rise, got %v", o.sizes)
	case min(o.rounds, o.keys, o.snapshotKeys, o.rate, o.arrivals) < 1 || min(o.duration, o.watch, o.timeout) <= 0:
		return errors.New("-rounds, -keys, -snapshot-keys, -rate, -arrivals, -duration, -watch and -timeout must be above 0")
	}
	if n := o.siege.connections; n < 1 || n > maxSiegeConnections {
		return fmt.Errorf("-siege-conns must be 1 to %d, got %d", maxSiegeConnections, n)
	}
	if n := o.siege.floodKeys; n < o.siege.floodRounds {
		return fmt.Errorf("-flood-keys must be at least one for each of %d rounds, got %d", o.siege.floodRounds, n)
	}
	for _, n := range slices.Concat(o.connections, o.pipelines, o.sizes) {
		if n < 1 {
			return fmt.Errorf("-conns, -pipelines and -sizes must be above 0, got %d", n)
		}
	}
	return nil
}

// loads are all that the throughput is measured under.
func (o options) loads() []load {
	var all []load
	for _, a := range o.algorithms {
		for _, d := range o.distributions {
			for _, c := range o.connections {
				for _, p := range o.pipelines {
					all = append(all, load{a, d, c, p, o.keys})
				}
			}
		}
	}
	return all
}

// subset says whether some, at least one, are all among known.
func subset[T comparable](some, known []T) bool {
	return len(some) > 0 && !slices.ContainsFunc(some, func(v T) bool { return !slices.Contains(known, v) })
}

// A list is a flag of several values, written with commas between.
type list[T ~string | ~int] []T

// String writes it as Set reads it.
func (l *list[T]) String() string {
	var words []string
	for _, v := range *l {
		words = append(words, fmt.Sprint(v))
	}
	return strings.Join(words, ",")
}

// Set replaces the values.
func (l *list[T]) Set(text string) error {
	*l = nil
	for word := range strings.SplitSeq(text, ",") {
		var v T
		switch p := any(&v).(type) {
		case *int:
			n, err := strconv.Atoi(word)
			if err != nil {
				return fmt.Errorf("%q is not a number", word)
			}
			*p = n
		default:
			if _, err := fmt.Sscan(word, p); err != nil {
				return fmt.Errorf("%q is not a name", word)
			}
		}
		*l = append(*l, v)
	}
	return nil
}
