package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var kills = flag.Int("kills", 45, "how often TestKill kills the server, in all")

// killTime is the time that a round may take on the average: if rounds take longer, on a
// busy machine, there are fewer, but at least leastKills.
const (
	killTime   = 5 * time.Second
	leastKills = 5
)

// A counter is a key of which nothing comes back for the length of the test, so that
// it counts what was let through.
type counter struct {
	key  string
	twin string // a key that gets the same, all or nothing; "" if there is none
	// take is a command with %d for the permits, or for a number that was never used.
	take  string
	limit int64
	unit  bool // one permit is taken, and the number is that of a holder

	sent, acked atomic.Int64 // permits
}

// newCounters are counters of all algorithms.
func newCounters() (all []*counter) {
	const much = 1_000_000_000
	for i := range 12 {
		name := func(kind string) string { return fmt.Sprintf("%s:%d", kind, i) }
		all = append(all,
			&counter{key: name("fixed"), take: "RL.FIXED " + name("fixed") + " 1000000000 3650d %d", limit: much},
			&counter{key: name("fixed2"), take: "RL.FIXED " + name("fixed2") + " 1000000000 3650d %d", limit: much},
			&counter{key: name("slide"), take: "RL.SLIDE " + name("slide") + " 1000000000 3650d %d", limit: much},
			&counter{key: name("token"), take: "RL.TOKEN " + name("token") + " 9000 1/3650d %d", limit: 9000},
			&counter{key: name("log"), take: "RL.LOG " + name("log") + " 9000 3650d %d", limit: 9000},
			&counter{key: name("places"), take: "RL.ACQUIRE " + name("places") + " 9000 3650d id%d", limit: 9000, unit: true},
			&counter{key: name("one"), twin: name("other"), limit: much,
				take: "RL.ALL FIXED " + name("one") + " 1000000000 3650d %d TOKEN small 1 1 0 FIXED " + name("other") + " 1000000000 3650d 7"},
		)
	}
	return all
}

// holders numbers those of places.
var holders atomic.Int64

// A request is one that was sent.
type request struct {
	of *counter
	n  int64
}

// command is what is sent for it.
func (r *request) command() string {
	r.of.sent.Add(r.n)
	if r.of.unit {
		return fmt.Sprintf(r.of.take, holders.Add(1))
	}
	return fmt.Sprintf(r.of.take, r.n)
}

// answered takes note of a reply.
func (r *request) answered(reply any) error {
	list, ok := reply.([]any)
	switch {
	case isError(reply, "LOADING"), isError(reply, "MISCONF"):
		r.of.sent.Add(-r.n)
	case isError(reply, "UNCERTAIN"): // of a disk that hangs
	case !ok || len(list) < 3:
		return fmt.Errorf("%s is answered %v", r.of.key, reply)
	case list[0] == int64(1):
		r.of.acked.Add(r.n)
	}
	return nil
}

// press takes of counters, in pipelines, until the connection is lost.
func press(address string, all []*counter, rng *rand.Rand) error {
	w, err := wireTo(address)
	if err != nil {
		return nil
	}
	defer w.Close()
	for {
		requests := make([]request, 1+rng.IntN(40))
		commands := make([]string, len(requests))
		for i := range requests {
			r := &requests[i]
			*r = request{of: all[rng.IntN(len(all))], n: 1 + rng.Int64N(3)}
			if r.of.unit {
				r.n = 1
			}
			if r.of.twin != "" {
				r.n = 7
			}
			commands[i] = r.command()
		}
		replies, lost := w.all(commands...)
		for i, reply := range replies {
			if reply == nil {
				break // not answered
			}
			if err := requests[i].answered(reply); err != nil {
				return err
			}
		}
		if lost != nil {
			return nil
		}
	}
}

// pressAll presses from some connections, and has snapshots taken all the time,
// until the server is gone.
func pressAll(address string, all []*counter, seed uint64) (wait func() error) {
	const connections = 4
	var (
		running sync.WaitGroup
		ends    [connections]error
	)
	for i := range connections {
		running.Go(func() { ends[i] = press(address, all, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	running.Go(func() {
		w, err := wireTo(address)
		for err == nil {
			_, err = w.all("BGSAVE")
			time.Sleep(10 * time.Millisecond)
		}
	})
	return func() error {
		running.Wait()
		return errors.Join(ends[:]...)
	}
}

// used is what a server has counted for a key.
func used(reply any, limit int64) (int64, error) {
	if reply == nil {
		return 0, nil
	}
	list, ok := reply.([]any)
	if !ok || len(list) != 5 {
		return 0, fmt.Errorf("RL.PEEK is answered %v", reply)
	}
	remaining, ok := list[2].(int64)
	if !ok || list[1] != limit {
		return 0, fmt.Errorf("RL.PEEK is answered %v", reply)
	}
	return limit - remaining, nil
}

// audit finds counters that have counted less than was answered or more than was
// sent. What they have counted is what was sent and answered from now on.
func audit(w *wire, all []*counter) error {
	var failures []error
	for _, c := range all {
		keys := []string{c.key}
		if c.twin != "" {
			keys = append(keys, c.twin)
		}
		for _, key := range keys {
			replies, err := w.all("RL.PEEK " + key)
			if err != nil {
				return err
			}
			got, err := used(replies[0], c.limit)
			switch {
			case err != nil:
				failures = append(failures, fmt.Errorf("%s: %w", key, err))
			case got < c.acked.Load() || got > c.sent.Load():
				failures = append(failures, fmt.Errorf("%s has counted %d, where %d were acknowledged and %d sent", key, got, c.acked.Load(), c.sent.Load()))
			}
			// The twin is to have counted exactly that.
			c.acked.Store(got)
			c.sent.Store(got)
		}
	}
	return errors.Join(failures...)
}

// What was hit when the server was killed.
type hits struct{ recovery, snapshot, shutdown, rounds int }

// TestKill kills the server again and again with signal 9, at any moment, and starts
// it on what is left: all that was acknowledged is there, and no more than was sent.
func TestKill(t *testing.T) {
	policies := []string{"always", "everysec", "no"}
	for i, fsync := range policies {
		t.Run(fsync, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			k := killer{
				args: []string{"--data", filepath.Join(t.TempDir(), "data"), "--fsync", fsync, "--snapshot-log-bytes", "1mb"},
				rng:  rand.New(rand.NewPCG(seed, uint64(i))), all: newCounters(),
			}
			begin, rounds := time.Now(), *kills/len(policies)
			for range rounds {
				if k.hits.rounds >= leastKills && time.Since(begin) > time.Duration(rounds)*killTime {
					break
				}
				k.round(t)
				if t.Failed() {
					t.Fatalf("seed %d, round %d", seed, k.hits.rounds)
				}
			}
			k.verify(t, serve(t, k.args...))
			var counted int64
			for _, c := range k.all {
				counted += c.acked.Load()
			}
			t.Logf("%d rounds, of which %d hit a recovery, %d a snapshot, %d a shutdown; %d permits counted",
				k.hits.rounds, k.hits.recovery, k.hits.snapshot, k.hits.shutdown, counted)
			if counted == 0 {
				t.Error("nothing was counted")
			}
		})
	}
}

// A killer kills servers.
type killer struct {
	args []string
	rng  *rand.Rand
	all  []*counter
	hits hits
}

func (k *killer) dir() string   { return k.args[1] }
func (k *killer) fsync() string { return k.args[3] }

// random is a time up to most.
func (k *killer) random(most time.Duration) time.Duration {
	return time.Duration(k.rng.Int64N(int64(most)))
}

// round starts a server and kills it.
func (k *killer) round(t *testing.T) {
	k.hits.rounds++
	var (
		r       *running
		pressed = func() error { return nil }
	)
	switch way := k.rng.IntN(10); way {
	case 0:
		r = launch(t, k.args...)
		time.Sleep(k.random(200 * time.Millisecond))
	case 1, 2:
		r = serve(t, k.args...)
		time.Sleep(k.random(15 * time.Millisecond))
	default:
		r = serve(t, k.args...)
		k.verify(t, r)
		pressed = pressAll(r.address, k.all, k.rng.Uint64())
		time.Sleep(k.random(400 * time.Millisecond))
		if way < 5 {
			r.Process.Signal(syscall.SIGTERM)
			time.Sleep(k.random(60 * time.Millisecond))
		}
	}
	over := r.isOver()
	r.Process.Signal(syscall.SIGKILL)
	<-r.ended
	if err := pressed(); err != nil {
		t.Error(err)
	}
	if over && r.ProcessState.ExitCode() != exitOK {
		t.Errorf("it ended by itself with %v\n%s", r.ProcessState, r.logged())
	}
	if strings.Contains(r.logged(), "the disk has failed") && k.fsync() != "always" {
		t.Logf("round %d: the disk was too slow: what was decided meanwhile need not be there", k.hits.rounds)
		for _, c := range k.all {
			c.acked.Store(0)
		}
	}
	k.note(r, over)
	if k.hits.rounds%5 == 0 {
		k.check(t)
	}
}

// note takes note of what a kill hit.
func (k *killer) note(r *running, over bool) {
	log := r.logged()
	if !strings.Contains(log, "state loaded") {
		k.hits.recovery++
	}
	if tables, _ := os.ReadDir(filepath.Join(k.dir(), "snapshots", "staging")); len(tables) > 0 {
		k.hits.snapshot++
	}
	if strings.Contains(log, "shutting down") && !over {
		k.hits.shutdown++
	}
}

// verify waits until a server has its state and audits it.
func (k *killer) verify(t *testing.T, r *running) {
	t.Helper()
	w := wired(t, r.address)
	w.loaded(t)
	if err := audit(w, k.all); err != nil {
		t.Errorf("%v\n%s", err, r.logged())
	}
	w.Close()
}

// check has the directory checked: what a crash leaves is not damaged.
func (k *killer) check(t *testing.T) {
	t.Helper()
	if out, log, code := runs(t, limitsrv(nil, "check", k.dir())); code != exitOK && !strings.Contains(log, "is empty") {
		t.Errorf("check ends with %d: %s\n%s", code, log, out)
	}
}
