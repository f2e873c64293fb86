// Command bench measures limitsrv beside Redis with the Lua scripts that it replaces, on
// the same machine in the same run, and prints a table.
//
// The servers run on free loopback ports and are loaded alternately, A B A B, so that a
// disturbance of the machine affects both. They keep state only in the experiments that
// measure persistence, and then on a disk. The load generator is redis-benchmark wherever
// it can produce the load, otherwise the generator in generator.go, for example for keys
// that are not uniform. Both sides get the same limits of the same keys from the same
// generator.
//
// The table of all experiments is in experiments.go, with the only place that starts and
// stops servers; report.go has the tables that they fill, and goals.go the figures that
// limitsrv must reach.
//
// bench imports packages of internal, and nothing of the server. It builds the server and runs it as a user
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

// measure builds limitsrv and runs the experiments selected by o.
func measure(ctx context.Context, o options, say func(string, ...any)) (*report, error) {
	r := &report{setting: setting(o)}
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
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", binary, "limitsrv/cmd/limitsrv")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	if out, err := build.CombinedOutput(); err != nil {
		return r, fmt.Errorf("go build limitsrv/cmd/limitsrv: %w: %s", err, lastLine(string(out)))
	}
	e := &env{options: o, report: r, binary: binary, dir: dir, say: say}
	return r, e.runAll(ctx)
}
