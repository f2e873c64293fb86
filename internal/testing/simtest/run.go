package simtest

import (
	"flag"
	"fmt"
	"testing"
	"time"
)

// maxRun is the maximum length of a run.
const maxRun = 30 * time.Minute

// Flags are the flags of a test that simulates in runs.
type Flags struct {
	hours *float64
	first *uint64
	seed  *uint64
	// Verbose makes the runs write all log lines to stderr.
	Verbose *bool
}

// NewFlags defines the flags. A test binary may call it once.
func NewFlags() Flags {
	return Flags{
		hours:   flag.Float64("sim-hours", 0.1, "virtual hours that TestSim simulates"),
		first:   flag.Uint64("sim-first", 1, "the seed of the first run of TestSim"),
		seed:    flag.Uint64("sim-seed", 0, "the one run that TestSim repeats"),
		Verbose: flag.Bool("sim-log", false, "TestSim writes the logs of the nodes to stderr"),
	}
}

// Run calls simulate, concurrently, for runs with consecutive seeds, from the requested seed on,
// until the requested time is over. If only a seed is requested, it runs that seed once.
func (f Flags) Run(t *testing.T, simulate func(t *testing.T, seed uint64, length time.Duration)) {
	t.Helper()
	if *f.seed != 0 {
		simulate(t, *f.seed, maxRun)
		return
	}
	left := time.Duration(*f.hours * float64(time.Hour))
	for seed := *f.first; left > 0; seed++ {
		length := min(left, maxRun)
		left -= length
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			t.Parallel()
			simulate(t, seed, length)
		})
	}
}

// Pick selects one of all by its odds. intN returns a random number below n.
func Pick[T any](all []T, odds func(T) int, intN func(n int) int) T {
	sum := 0
	for _, one := range all {
		sum += odds(one)
	}
	at := intN(sum)
	for _, one := range all {
		if at -= odds(one); at < 0 {
			return one
		}
	}
	panic("the odds have changed")
}
