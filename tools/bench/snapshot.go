package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// A snapshotServer is a server that writes snapshots.
type snapshotServer struct {
	mode mode
	// snapshot is the name of its snapshot, a file or directory, in its directory.
	snapshot string
	// compact is the command that writes the state such that a restart has nothing to
	// replay. Redis restarts from its log if it has a log, so for Redis it rewrites the
	// log.
	compact string
}

var snapshotServers = map[product]snapshotServer{
	limitsrv: {mode{limitsrv, "everysec"}, "snapshots", "BGSAVE"},
	redisLua: {mode{redisLua, "everysec"}, "dump.rdb", "BGREWRITEAOF"},
}

// A snapshotResult is the measurements of a side's snapshots and restarts.
type snapshotResult struct {
	keys           int64
	before, during loadLatencies // relative to the snapshots
	took           []time.Duration
	snapshotBytes  int64 // on disk, right after the last snapshot
	allBytes       int64 // including the log
	fullBytes      int64 // resident, before the snapshots
	peakBytes      int64 // peak resident, until after the snapshots
	copiedBytes    int64 // additional memory of the forked process
	clean, killed  restart
}

// A loadLatencies is the latencies of the steady load and of a prober.
type loadLatencies struct{ steady, prober latency }

// A restart is the durations and the memory of a restart.
type restart struct {
	end       time.Duration // of a clean shutdown
	ready     time.Duration // from the start to the first answer other than LOADING
	behind    int64         // decisions since the last command to write the state
	peakBytes int64         // peak resident after the restart
}

const (
	snapshotConnections = 8
	snapshotPipeline    = 4
	// leadIn is the duration of a load before it is measured.
	leadIn = 200 * time.Millisecond
)

// A snapshotTest measures a snapshotResult.
type snapshotTest struct {
	*env
	server snapshotServer
	dir    string
	side   *side // the running server
	got    snapshotResult
}

// snapshots measures both sides, one at a time.
func snapshots(ctx context.Context, e *env) error {
	ours, theirs, err := inTurn(e,
		func(p product) (snapshotResult, error) { return e.measureSnapshots(ctx, snapshotServers[p]) })
	if err == nil {
		e.addSnapshots(ours, theirs)
	}
	return err
}

// measureSnapshots fills a server with keys, makes it write snapshots under a steady
// load, and restarts it.
func (e *env) measureSnapshots(ctx context.Context, k snapshotServer) (snapshotResult, error) {
	dir, err := e.state()
	if err != nil {
		return snapshotResult{}, err
	}
	t := &snapshotTest{env: e, server: k, dir: dir}
	if err := t.open(ctx); err != nil {
		return t.got, err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"fill", t.fill}, {"measure before a snapshot", t.calm}, {"write snapshots", t.save},
		{"weigh", t.measureSizes}, {"restart", t.restart}, {"restart after a kill", t.restartAfterKill},
	} {
		e.say("%s: %s", k.mode, step.name)
		if err := step.do(ctx); err != nil {
			return t.got, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return t.got, nil
}

// open starts the server on its directory, with further options. It returns an error if keys are
// missing.
func (t *snapshotTest) open(ctx context.Context, extra ...string) error {
	s, err := t.start(ctx, t.server.mode.product, "", append(t.server.mode.options(t.dir), extra...)...)
	if err != nil {
		return err
	}
	t.side = s
	n, err := s.keys()
	if err == nil && n < t.got.keys {
		err = fmt.Errorf("it came back with %d of %d keys", n, t.got.keys)
	}
	return err
}

// fill adds the keys and waits until the server is idle.
func (t *snapshotTest) fill(ctx context.Context) error {
	if _, err := t.side.fill(ctx, lastingBucket, t.snapshotKeys); err != nil {
		return err
	}
	if _, err := t.side.save(ctx, t.server.compact); err != nil {
		return err
	}
	flushAll()
	var err error
	if t.got.keys, err = t.side.keys(); err == nil {
		t.got.fullBytes, err = t.side.residentBytes()
	}
	return err
}

// calm measures the load without a snapshot.
func (t *snapshotTest) calm(ctx context.Context) (err error) {
	t.got.before, err = t.observe(ctx, func() error { return sleep(ctx, t.watch) })
	return err
}

// save measures the load during successive snapshots.
func (t *snapshotTest) save(ctx context.Context) (err error) {
	t.got.during, err = t.observe(ctx, func() error {
		for range t.rounds {
			took, err := t.side.save(ctx, "BGSAVE")
			if err != nil {
				return err
			}
			t.got.took = append(t.got.took, took)
		}
		return nil
	})
	return err
}

// measureSizes measures the size of the state on disk and the peak memory.
func (t *snapshotTest) measureSizes(context.Context) (err error) {
	if t.got.allBytes, err = usage(t.dir); err != nil {
		return err
	}
	if t.got.snapshotBytes, err = usage(filepath.Join(t.dir, t.server.snapshot)); err != nil {
		return err
	}
	if t.got.peakBytes, err = t.side.peakBytes(); err != nil {
		return err
	}
	now, err := t.side.info("persistence", longWait)
	if err != nil {
		return err
	}
	t.got.copiedBytes, err = now.copied()
	return err
}

// restart shuts the server down cleanly, and starts it.
func (t *snapshotTest) restart(ctx context.Context) (err error) {
	if _, err = t.side.save(ctx, t.server.compact); err != nil {
		return err
	}
	if t.got.clean.end, err = t.side.shutDown(); err != nil {
		return err
	}
	return t.back(ctx, &t.got.clean)
}

// restartAfterKill kills the server under a load at full speed, and starts it.
func (t *snapshotTest) restartAfterKill(ctx context.Context) error {
	if _, err := t.side.save(ctx, t.server.compact); err != nil {
		return err
	}
	var (
		l     = load{algorithm: lastingBucket, connections: fillConnections, pipeline: fillPipeline, keys: t.snapshotKeys}
		begin = time.Now()
		kill  = time.AfterFunc(t.watch, t.side.stop)
	)
	defer kill.Stop()
	o, err := t.side.generate(ctx, l, fillWait, scattered(l.keys))
	if time.Since(begin) < t.watch {
		return fmt.Errorf("before it was killed: %w", err)
	}
	<-t.side.exited // err reports the same
	t.got.killed.behind = o.decisions
	return t.back(ctx, &t.got.killed)
}

// back starts the server again, with further options, and records the figures of the restart.
func (t *snapshotTest) back(ctx context.Context, r *restart, extra ...string) error {
	if err := t.open(ctx, extra...); err != nil {
		return err
	}
	r.ready = t.side.readyIn
	var err error
	r.peakBytes, err = t.side.peakBytes()
	return err
}

// observe measures a steady load and a prober, both over all keys, during work.
func (t *snapshotTest) observe(ctx context.Context, work func() error) (loadLatencies, error) {
	var (
		steady, prober watcher
		l              = load{
			algorithm: lastingBucket, connections: snapshotConnections, pipeline: snapshotPipeline, keys: t.snapshotKeys,
			rate: float64(t.rate),
		}
		keys = scattered(l.keys)(l.connections)
	)
	err := alongside(ctx, func() error {
		time.Sleep(leadIn)
		steady.open()
		prober.open()
		defer steady.close()
		defer prober.close()
		return work()
	},
		func(ctx context.Context) error { return t.side.runLoad(ctx, l, &steady) },
		func(ctx context.Context) error { return t.side.probe(ctx, l.algorithm, keys, &prober) },
	)
	return loadLatencies{steady.latency(), prober.latency()}, err
}
