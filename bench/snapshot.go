package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// A keeper is a server that keeps its state, and how it does.
type keeper struct {
	mode mode
	// snapshot is its snapshot in its directory, a file or another directory.
	snapshot string
	// compact writes the state such that a restart has nothing to replay. Redis
	// restarts from its log if it has one, so for Redis that writes the log anew.
	compact string
}

var (
	ourKeeper   = keeper{mode{limitsrv, "everysec"}, "snapshots", "BGSAVE"}
	theirKeeper = keeper{mode{redisLua, "everysec"}, "dump.rdb", "BGREWRITEAOF"}
)

// A preservation is how one side fared with its state.
type preservation struct {
	keys           int64
	before, during view // the snapshots
	took           []time.Duration
	snapshotBytes  int64 // on disk, right after the last snapshot
	allBytes       int64 // with the log
	fullBytes      int64 // resident, before the snapshots
	peakBytes      int64 // resident at most, until after the snapshots
	copiedBytes    int64 // beside that, by the process that it forked
	clean, killed  restart
}

// A view is what the steady load and a prober beside it saw.
type view struct{ steady, prober latency }

// A restart is how long a server took to come back.
type restart struct {
	end       time.Duration // to end cleanly
	ready     time.Duration // from the start to the first answer other than LOADING
	behind    int64         // decisions since it was last told to write its state
	peakBytes int64         // resident at most when it was back
}

const (
	snapshotConnections = 8
	snapshotPipeline    = 4
	// leadIn is how long a load runs before it is watched.
	leadIn = 200 * time.Millisecond
)

// A trial is the making of a preservation.
type trial struct {
	options     options
	keeper      keeper
	binary, dir string
	side        *side // that runs now
	got         preservation
}

// preserve fills one side with keys, has it write snapshots under a steady load,
// and restarts it.
func preserve(
	ctx context.Context, o options, k keeper, binary string, d disk, say func(string, ...any),
) (preservation, error) {
	dir, err := d.sub("snapshot-" + k.mode.word())
	if err != nil {
		return preservation{}, err
	}
	t := &trial{options: o, keeper: k, binary: binary, dir: dir}
	if err := t.start(ctx); err != nil {
		return t.got, err
	}
	defer func() { t.side.stop() }()
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"fill", t.fill}, {"measure before a snapshot", t.calm}, {"write snapshots", t.save},
		{"weigh", t.weigh}, {"restart", t.restart}, {"restart after a kill", t.recover},
	} {
		say("%s: %s", k.mode, step.name)
		if err := step.do(ctx); err != nil {
			return t.got, fmt.Errorf("%s, %s: %w", k.mode, step.name, err)
		}
	}
	return t.got, nil
}

// start starts the server with what is in its directory. All keys must be there
// if they once were.
func (t *trial) start(ctx context.Context) error {
	s, err := t.keeper.mode.start(ctx, t.binary, t.dir)
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

// fill adds the keys and brings the server to rest.
func (t *trial) fill(ctx context.Context) error {
	if _, err := fill(ctx, t.side, lastingBucket, t.options.snapshotKeys); err != nil {
		return err
	}
	if _, err := t.side.save(ctx, t.keeper.compact); err != nil {
		return err
	}
	flushAll()
	var err error
	if t.got.keys, err = t.side.keys(); err == nil {
		t.got.fullBytes, err = t.side.residentBytes()
	}
	return err
}

// calm watches the load without a snapshot.
func (t *trial) calm(ctx context.Context) (err error) {
	t.got.before, err = observe(ctx, t.side, t.options, func() error {
		select {
		case <-time.After(t.options.watch):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	return err
}

// save watches the load while snapshots are written, one after the other.
func (t *trial) save(ctx context.Context) (err error) {
	t.got.during, err = observe(ctx, t.side, t.options, func() error {
		for range t.options.rounds {
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

// weigh reads what the state takes on disk and took in memory.
func (t *trial) weigh(context.Context) (err error) {
	if t.got.allBytes, err = usage(t.dir); err != nil {
		return err
	}
	if t.got.snapshotBytes, err = usage(filepath.Join(t.dir, t.keeper.snapshot)); err != nil {
		return err
	}
	if t.got.peakBytes, err = t.side.peakBytes(); err != nil {
		return err
	}
	now, err := t.side.persistence()
	if err != nil {
		return err
	}
	t.got.copiedBytes, err = now.copied()
	return err
}

// restart ends the server as one should, and starts it.
func (t *trial) restart(ctx context.Context) (err error) {
	if _, err = t.side.save(ctx, t.keeper.compact); err != nil {
		return err
	}
	if t.got.clean.end, err = t.side.shutDown(); err != nil {
		return err
	}
	return t.back(ctx, &t.got.clean)
}

// recover kills the server under a load as fast as it bears, and starts it.
func (t *trial) recover(ctx context.Context) error {
	if _, err := t.side.save(ctx, t.keeper.compact); err != nil {
		return err
	}
	var (
		l     = load{lastingBucket, uniform, fillConnections, fillPipeline, t.options.snapshotKeys}
		begin = time.Now()
		kill  = time.AfterFunc(t.options.watch, t.side.stop)
	)
	defer kill.Stop()
	o, err := generate(ctx, t.side, l, fillWait, scattered(l.keys))
	if time.Since(begin) < t.options.watch {
		return fmt.Errorf("before it was killed: %w", err)
	}
	<-t.side.exited // which is what err says as well
	t.got.killed.behind = o.decisions
	return t.back(ctx, &t.got.killed)
}

// back starts the server again and takes its figures down.
func (t *trial) back(ctx context.Context, r *restart) error {
	if err := t.start(ctx); err != nil {
		return err
	}
	r.ready = t.side.readyIn
	var err error
	r.peakBytes, err = t.side.peakBytes()
	return err
}

// observe watches a steady load and a prober, both over all keys, while work is
// done.
func observe(ctx context.Context, s *side, o options, work func() error) (view, error) {
	var (
		steady, prober watcher
		l              = load{lastingBucket, uniform, snapshotConnections, snapshotPipeline, o.snapshotKeys}
		keys           = scattered(l.keys)(l.connections)
	)
	err := alongside(ctx, func() error {
		time.Sleep(leadIn)
		steady.open()
		prober.open()
		defer steady.close()
		defer prober.close()
		return work()
	},
		func(ctx context.Context) error { return hold(ctx, s, l, float64(o.rate), &steady) },
		func(ctx context.Context) error { return probe(ctx, s, l.algorithm, keys, &prober) },
	)
	return view{steady.latency(), prober.latency()}, err
}
