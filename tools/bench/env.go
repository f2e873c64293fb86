package main

import (
	"context"
	"fmt"
	"limitsrv/internal/testing/freeport"
	"net"
	"os"
	"slices"
	"strings"
	"time"
)

// An env is the surroundings of an experiment: its options, the servers that it has
// started, and the report.
//
// Concurrency: not safe for concurrent use.
type env struct {
	options
	*report
	binary string // the limitsrv under test
	dir    string // for files that need no disk
	say    func(string, ...any)
	trace  []uint32 // of keys with the distribution zipf; see keysOf
	ends   []func() // functions that stop calls
	// profiling: limitsrv is launched with profiles, at process.admin.
	profiling bool
}

// add adds a row to a table of the report.
func (e *env) add(t tableID, cells ...string) {
	e.tables[t] = append(e.tables[t], cells)
	e.say("%s", strings.Join(cells, " | "))
}

// atEnd makes stop call end.
func (e *env) atEnd(end func()) { e.ends = append(e.ends, end) }

// stop stops all servers started so far.
func (e *env) stop() {
	for _, end := range slices.Backward(e.ends) {
		end()
	}
	e.ends = nil
}

// launch runs a server until stop is called. See startProcess.
func (e *env) launch(ctx context.Context, address, ready string, args ...string) (*process, error) {
	admin := ""
	if e.profiling {
		var err error
		if admin, err = freeport.Address("127.0.0.1"); err != nil {
			return nil, err
		}
		args = append(args, "--admin", admin, "--admin-pprof")
	}
	p, err := startProcess(ctx, address, ready, args...)
	if err != nil {
		return nil, err
	}
	p.admin = admin
	e.atEnd(p.stop)
	return p, nil
}

// start starts a server that keeps its state in memory unless extra options say otherwise.
// If password is not empty, clients must log in.
func (e *env) start(ctx context.Context, p product, password string, extra ...string) (*side, error) {
	address, err := freeport.Address("127.0.0.1")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ready, login, logOption, level := "DBSIZE", "--password", "--log-level", "warn"
	args := []string{e.binary, "--listen", address}
	if p != limitsrv {
		login, logOption, level = "--requirepass", "--loglevel", "warning"
		args = []string{"redis-server", "--bind", "127.0.0.1", "--port", port, "--dir", e.dir, "--save", "", "--appendonly",
			"no"}
	}
	if p == redisCell {
		args = append(args, "--loadmodule", e.redisCell)
	}
	if password != "" {
		ready = "QUIT" // is answered before login
		args = append(args, login, password)
	}
	if password != "" && p == limitsrv {
		level = "error" // failed logins are warnings
	}
	server, err := e.launch(ctx, address, ready, append(append(args, logOption, level), extra...)...)
	if err != nil {
		return nil, err
	}
	return newSide(p, server, password)
}

// state returns a new directory on the disk for state.
func (e *env) state() (string, error) {
	if e.disk == nil {
		d, err := openDisk(e.data)
		if err != nil {
			return "", err
		}
		e.say("state goes to %s: %s", d.dir, d)
		e.disk = &d
	}
	return os.MkdirTemp(e.disk.dir, "state-")
}

// inTurn measures limitsrv and then Redis, on servers that measure starts. Only one of
// them runs at a time.
func inTurn[T any](e *env, measure func(product) (T, error)) (ours, theirs T, err error) {
	if ours, err = measure(limitsrv); err != nil {
		return ours, theirs, fmt.Errorf("%s: %w", limitsrv, err)
	}
	e.stop()
	if theirs, err = measure(redisLua); err != nil {
		return ours, theirs, fmt.Errorf("%s: %w", redisLua, err)
	}
	return ours, theirs, nil
}

// A contender is a load on a side; without a side there is nothing to measure.
type contender struct {
	side *side
	load load
}

// alternate measures every contender once per round, so that a disturbance of the machine
// affects all of them. It returns the samples of each contender.
func (e *env) alternate(ctx context.Context, lasting time.Duration, contenders ...contender) ([][]sample, error) {
	var (
		all   = make([][]sample, len(contenders))
		rates = make([]float64, len(contenders)) // of the last run, for the size of the next
	)
	for i, c := range contenders {
		if c.side == nil || c.load.rate > 0 {
			continue
		}
		warm, err := e.run(ctx, c, min(lasting, time.Second), 1)
		if err != nil {
			return nil, err
		}
		rates[i] = warm.perSecond
	}
	for range e.rounds {
		for i, c := range contenders {
			if c.side == nil {
				continue
			}
			if err := quiesce(ctx, contenders); err != nil {
				return nil, err
			}
			got, err := c.side.measure(func() (outcome, error) { return e.run(ctx, c, lasting, rates[i]) })
			if err != nil {
				return nil, err
			}
			rates[i] = got.perSecond
			all[i] = append(all[i], got)
		}
	}
	return all, nil
}

// quiesce waits until no server is writing its state and all dirty pages are on disk, so
// that no run pays for another run.
func quiesce(ctx context.Context, contenders []contender) error {
	for _, c := range contenders {
		if c.side == nil {
			continue
		}
		if err := c.side.rest(ctx); err != nil {
			return err
		}
	}
	flushAll()
	return nil
}

// turnovers is the minimum number of pipelines per connection in a run of
// redis-benchmark, which takes a number of requests, not a duration.
const turnovers = 8

// run uses redis-benchmark, except for loads that it can't generate. perSecond is the
// expected rate.
func (e *env) run(ctx context.Context, c contender, lasting time.Duration, perSecond float64) (outcome, error) {
	l := c.load
	if l.rate > 0 || l.distribution == zipf {
		return c.side.generate(ctx, l, lasting, e.keysOf(l))
	}
	n := max(int(perSecond*lasting.Seconds()), turnovers*l.connections*l.pipeline, 5000)
	return redisBenchmark(ctx, c.side, l, n)
}

// zipfTraceLength is the number of requests in a trace of keys before it repeats.
const zipfTraceLength = 1 << 21

// keysOf returns the sources of the keys of l.
func (e *env) keysOf(l load) sources {
	if l.distribution != zipf {
		return scattered(l.keys)
	}
	if e.trace == nil {
		e.trace = zipfTrace(e.keys, zipfTraceLength, 1)
	}
	return following(e.trace, l.connections)
}
