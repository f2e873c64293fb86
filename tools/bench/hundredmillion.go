package main

import (
	"context"
	"fmt"
	"math"
)

// hugeName is the experiment that only -only selects, because of its memory and duration.
const hugeName = "hundredmillion"

// hugeGoalKeys is the number of keys of the goals of this experiment.
const hugeGoalKeys = 100_000_000

// The goals of hugeGoalKeys keys on two processors.
var (
	hugeFillGoal    = goal{order: atMost, bound: 56, unit: " bytes a key"}
	hugeRestGoal    = goal{order: atMost, bound: 52, unit: " bytes a key"}
	hugeRestartGoal = goal{order: atMost, bound: 30, unit: " s"}
)

// A hugeTest is a limitsrv with many keys in a directory.
type hugeTest struct{ snapshotTest }

// hundredMillion fills a server with keys while it takes snapshots, lets it rest, takes
// another snapshot, and restarts it twice: from the snapshot alone, and after a kill with
// half as many decisions as keys after the snapshot.
func hundredMillion(ctx context.Context, e *env) error {
	dir, err := e.state()
	if err != nil {
		return err
	}
	t := &hugeTest{snapshotTest{env: e, server: snapshotServers[limitsrv], dir: dir}}
	if err := t.open(ctx); err != nil {
		return err
	}
	for _, stage := range []struct {
		name string
		do   func(context.Context, string) error
	}{
		{"fill", t.fill}, {"at rest", t.rest}, {"snapshot", t.save},
		{"restart", t.restart}, {"restart after kill -9", t.restartBehind}, {"at rest after it", t.rest},
	} {
		e.say("%s keys: %s", countText(float64(e.hugeKeys)), stage.name)
		if err := stage.do(ctx, stage.name); err != nil {
			return fmt.Errorf("%s: %w", stage.name, err)
		}
	}
	return nil
}

// fill adds the keys.
func (t *hugeTest) fill(ctx context.Context, name string) error {
	return t.observe(ctx, name, hugeFillGoal, func() (string, error) {
		o, err := t.side.fill(ctx, lastingBucket, t.hugeKeys)
		t.got.keys = int64(t.hugeKeys)
		return countText(o.perSecond) + " keys/s", err
	})
}

// rest waits for the end of a snapshot, then a while for the server to return garbage to
// the system, and for another snapshot.
func (t *hugeTest) rest(ctx context.Context, name string) error {
	if err := t.side.rest(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, t.watch); err != nil {
		return err
	}
	return t.observe(ctx, name, hugeRestGoal, func() (string, error) { return "", sleep(ctx, t.watch) })
}

// save takes a snapshot.
func (t *hugeTest) save(ctx context.Context, name string) error {
	return t.observe(ctx, name, hugeFillGoal, func() (string, error) {
		took, err := t.side.save(ctx, "BGSAVE")
		return secondsText(took.Seconds()), err
	})
}

// restart shuts the server down and starts it, such that it takes no more snapshots.
func (t *hugeTest) restart(ctx context.Context, name string) error {
	if _, err := t.side.shutDown(); err != nil {
		return err
	}
	return t.reopen(ctx, name)
}

// restartBehind asks for half as many decisions as there are keys, kills the server, and
// starts it.
func (t *hugeTest) restartBehind(ctx context.Context, name string) error {
	decisions := max(1, t.hugeKeys/2)
	l := load{algorithm: lastingBucket, connections: fillConnections, pipeline: fillPipeline, keys: t.hugeKeys}
	o, err := t.side.generate(ctx, l, fillWait, limited(scattered(l.keys), decisions/l.connections))
	if err != nil {
		return err
	}
	t.side.stop()
	return t.reopen(ctx, fmt.Sprintf("%s, %s decisions behind the snapshot", name, countText(float64(o.decisions))))
}

// reopen starts the server again, and adds its row.
func (t *hugeTest) reopen(ctx context.Context, name string) error {
	var r restart
	if err := t.back(ctx, &r, "--snapshot-log-bytes", fmt.Sprint(int64(math.MaxInt64))); err != nil {
		return err
	}
	seconds := r.ready.Seconds()
	t.addHuge(name, hugeRestartGoal, seconds, secondsText(seconds), r.peakBytes, "-")
	return nil
}

// observe probes the server and samples its memory during work, which returns the text of
// its result, and adds a row. The goal is of the bytes a key.
func (t *hugeTest) observe(ctx context.Context, name string, g goal, work func() (result string, err error)) error {
	var (
		w      watcher
		peak   int64
		result string
		key    = func() (int, bool) { return proberKey, true }
	)
	w.open()
	err := alongside(ctx, func() (err error) { result, err = work(); return err },
		func(ctx context.Context) error { return t.side.probe(ctx, lastingBucket, key, &w) },
		func(ctx context.Context) error { return samplePeak(ctx, t.side.residentBytes, &peak) })
	if err != nil {
		return err
	}
	seen := w.latency()
	t.addHuge(name, g, t.perKey(peak), result, peak, millisTexts(seen.p50, seen.p99, seen.p999))
	return nil
}

func (t *hugeTest) perKey(bytes int64) float64 { return float64(bytes) / float64(t.hugeKeys) }

// addHuge adds a row. Rows with fewer keys than the goals have no verdict.
func (t *hugeTest) addHuge(name string, g goal, value float64, result string, peak int64, waits string) {
	c := g.check(value)
	verdict := c.verdict()
	if t.hugeKeys < hugeGoalKeys {
		verdict = ""
	}
	t.add(hugeTable, name, result, fmt.Sprintf("%.1f", t.perKey(peak)), waits, c.asked, verdict)
}

// limited returns sources that end after so many keys of a connection.
func limited(keysOf sources, each int) sources {
	return func(connection int) func() (int, bool) {
		next, left := keysOf(connection), each
		return func() (int, bool) {
			if left == 0 {
				return 0, false
			}
			left--
			return next()
		}
	}
}
