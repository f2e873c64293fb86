// Command bench measures limitsrv beside Redis with the Lua scripts that it replaces,
// on one machine in one run, and prints a table.
//
// The servers run on free loopback ports and are loaded alternately, A B A B, so that a
// disturbance of the machine affects both. They keep state only in the parts that
// measure persistence, and then on a disk. The load generator is redis-benchmark
// wherever it can produce the load, otherwise the one in generator.go, for example for
// keys that are not uniform. Both sides get the same limits of the same keys from the
// same generator.
//
// bench imports nothing of the server. It builds the server and runs it as a user
// would.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

func main() {
	runtime.LockOSThread() // see killWithParent
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program. It returns the exit code: 0, 1 if a measurement failed, 2 for a
// wrong command line.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.timeout, fmt.Errorf("not done after %v; see -timeout", o.timeout))
	defer cancel()
	begin := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(stderr, "%6.0fs  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
	r, err := measure(ctx, o, say)
	if err == nil {
		err = r.write(stdout, o)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause // the error follows from the servers' being killed
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// measure runs the parts selected by o.
func measure(ctx context.Context, o options, say func(string, ...any)) (report, error) {
	r := report{setting: setting(o)}
	if err := haveRedis(); err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "limitsrv-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	say("building limitsrv")
	binary := filepath.Join(dir, "limitsrv")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "limitsrv/cmd/limitsrv").CombinedOutput(); err != nil {
		return r, fmt.Errorf("go build limitsrv/cmd/limitsrv: %w: %s", err, lastLine(string(out)))
	}
	if slices.Contains(o.parts, partThroughput) {
		if r.pairs, err = measureThroughput(ctx, o, binary, dir, say); err != nil {
			return r, err
		}
	}
	if slices.Contains(o.parts, partGrowth) {
		ours, err := measureGrowth(ctx, o, say, func() (*side, error) { return startLimitsrv(ctx, binary) })
		if err != nil {
			return r, err
		}
		theirs, err := measureGrowth(ctx, o, say, func() (*side, error) { return startRedis(ctx, dir) })
		if err != nil {
			return r, err
		}
		r.ours, r.theirs = &ours, &theirs
	}
	if slices.ContainsFunc(o.parts, func(p string) bool {
		return p == partDurability || p == partSnapshot || p == partCluster
	}) {
		if err = r.measureState(ctx, o, binary, say); err != nil {
			return r, err
		}
	}
	if slices.Contains(o.parts, partFailover) {
		if r.failovers, err = failover(ctx, o, binary, dir, say); err != nil {
			return r, err
		}
	}
	if slices.Contains(o.parts, partSiege) {
		r.stress, err = measureStress(ctx, o, binary, dir, say)
	}
	return r, err
}

// measureState runs the parts that keep state on a disk.
func (r *report) measureState(ctx context.Context, o options, binary string, say func(string, ...any)) error {
	d, err := openDisk(o.data)
	if err != nil {
		return err
	}
	defer d.close()
	say("state goes to %s: %s", d.dir, d)
	r.disk = &d
	if slices.Contains(o.parts, partDurability) {
		if r.durabilities, err = durability(ctx, o, binary, d, say); err != nil {
			return err
		}
	}
	if slices.Contains(o.parts, partSnapshot) {
		ours, err := measureSnapshots(ctx, o, ourSnapshotServer, binary, d, say)
		if err != nil {
			return err
		}
		theirs, err := measureSnapshots(ctx, o, theirSnapshotServer, binary, d, say)
		if err != nil {
			return err
		}
		r.ourSnapshots, r.theirSnapshots = &ours, &theirs
	}
	if slices.Contains(o.parts, partCluster) {
		if r.deployments, err = measureCluster(ctx, o, binary, d, say); err != nil {
			return err
		}
	}
	return nil
}

// measureThroughput starts both sides and runs throughput.
func measureThroughput(ctx context.Context, o options, binary, dir string, say func(string, ...any)) ([]pairedRuns, error) {
	ours, err := startLimitsrv(ctx, binary)
	if err != nil {
		return nil, err
	}
	defer ours.stop()
	theirs, err := startRedis(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer theirs.stop()
	return throughput(ctx, o, ours, theirs, say)
}

// measureGrowth starts one side and runs grow.
func measureGrowth(ctx context.Context, o options, say func(string, ...any), start func() (*side, error)) (growth, error) {
	s, err := start()
	if err != nil {
		return growth{}, err
	}
	defer s.stop()
	return grow(ctx, s, o.sizes, say)
}
