// Command bench measures limitsrv beside Redis with the Lua scripts that it
// replaces, on this machine and in one go, and prints a table.
//
// The servers run on free ports of loopback and are loaded in turn, A B A B, so
// that what disturbs the machine disturbs all. They keep no state but where that
// is what is measured; it is then on a disk. The load generator is redis-benchmark wherever that can make the load, and the
// one in generator.go for keys that are not uniform. Both sides are asked for the
// same limits of the same keys by the same generator.
//
// It imports nothing of the server: that is built and run as anybody would.
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
	runtime.LockOSThread() // see dieWithParent
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it gives the exit code: 0, 1 if it could not measure, 2 for
// a wrong command line.
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
		err = cause // whatever failed then did so since its servers were killed
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// measure runs the parts that o asks for.
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
		if r.duels, err = measureThroughput(ctx, o, binary, dir, say); err != nil {
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
		if r.plights, err = failover(ctx, o, binary, dir, say); err != nil {
			return r, err
		}
	}
	if slices.Contains(o.parts, partSiege) {
		r.siege, err = measureSiege(ctx, o, binary, dir, say)
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
		if r.standings, err = durability(ctx, o, binary, d, say); err != nil {
			return err
		}
	}
	if slices.Contains(o.parts, partSnapshot) {
		ours, err := preserve(ctx, o, ourKeeper, binary, d, say)
		if err != nil {
			return err
		}
		theirs, err := preserve(ctx, o, theirKeeper, binary, d, say)
		if err != nil {
			return err
		}
		r.ourKeeping, r.theirKeeping = &ours, &theirs
	}
	if slices.Contains(o.parts, partCluster) {
		if r.teams, err = measureCluster(ctx, o, binary, d, say); err != nil {
			return err
		}
	}
	return nil
}

// measureThroughput starts both sides for throughput.
func measureThroughput(ctx context.Context, o options, binary, dir string, say func(string, ...any)) ([]duel, error) {
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

// measureGrowth starts one side for grow.
func measureGrowth(ctx context.Context, o options, say func(string, ...any), start func() (*side, error)) (growth, error) {
	s, err := start()
	if err != nil {
		return growth{}, err
	}
	defer s.stop()
	return grow(ctx, s, o.sizes, say)
}
