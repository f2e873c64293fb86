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

	"limitsrv/internal/testing/testwait"
)

var kills = flag.Int("kills", 45, "how often TestKill kills the server in total")

// killTime is the time budget per round. On a busy machine there are fewer rounds, but at
// least minKills.
const (
	killTime = 5 * time.Second
	minKills = 5
)

// A counter is a key that is not refilled during the test, so that it counts the
// tokens granted.
type counter struct {
	key       string
	pairedKey string // a key of the same RL.ALL commands, or ""
	// take is a command with %d for the number of tokens, or for a unique number.
	take  string
	limit int64
	unit  bool // each command takes a token; %d is the number of the holder
	// commit settles the reservation that take has made with the same number: one of heldTokens tokens is
	// used. "": take makes no reservation. again, unless it is "", is the same commit in other words.
	commit, again string

	sent, acked atomic.Int64 // tokens
	// once holds commands with an id that were answered; nil: the commands have no ids. They are sent
	// again after a restart, and each command is sent twice at once.
	once *answeredOnce
}

// answeredOnce holds the last commands with an id that were answered.
type answeredOnce struct {
	mu   sync.Mutex
	last []string
}

func (a *answeredOnce) add(command string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = append(a.last, command)
	a.last = a.last[max(0, len(a.last)-100):]
}

// take returns the commands, and forgets them.
func (a *answeredOnce) take() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all, a.last = a.last, nil
	return all
}

// newCounters returns counters of all algorithms.
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
			&counter{key: name("once"), take: "RL.FIXED " + name("once") + " 1000000000 3650d ONCE id%d FOR 1d", limit: much,
				unit: true, once: new(answeredOnce)},
			&counter{key: name("held"), limit: much,
				take:   "RL.RESERVE reserved%d 3650d KEEP ALL FIXED " + name("held") + " 1000000000 3650d 3",
				commit: "RL.COMMIT reserved%d 1", once: new(answeredOnce)},
			&counter{key: fmt.Sprintf("rule:kill|named|%d#FIXED:all", i), limit: much,
				take:   fmt.Sprint("RL.CHECK kill named ", i, " HITS in=1 out=1 RESERVE named%d 3650d KEEP ALL"),
				commit: "RL.COMMIT named%d in=1 out=0", again: "RL.COMMIT named%d out=0 in=1", once: new(answeredOnce)},
			&counter{key: fmt.Sprintf("rule:kill|leased|%d#LEASE:lease-30s", i), limit: 9000, unit: true,
				take: fmt.Sprint("RL.CHECK kill leased ", i, " RESERVE leased%d 3650d"), once: new(answeredOnce)},
			&counter{key: name("one"), pairedKey: name("other"), limit: much,
				take: "RL.ALL FIXED " + name("one") + " 1000000000 3650d %d TOKEN small 1 1 0 FIXED " + name("other") +
					" 1000000000 3650d 7"},
		)
	}
	return all
}

// killRules are the rules of reservations with named amounts, of heldTokens each, and of reservations with a lease.
const killRules = `domain: kill
rules:
  - name: named
    per: [named]
    limits: [{count: 1000000000, window: 3650d, algorithm: fixed, name: all, weights: {in: 1, out: 2}}]
  - {name: leased, per: [leased], limits: [9000 at once ttl 30s]}
`

// heldTokens are the tokens of a reservation.
const heldTokens = 3

// holders numbers the holders of leases, and the ids.
var holders atomic.Int64

// A request is a command that was sent.
type request struct {
	of   *counter
	n    int64
	text string // of a command with an id; its repetition has n = 0
	// held is set if n tokens are held. At least one of them counts. unused is the number of tokens that an
	// answer gives back.
	held   bool
	unused int64
}

// command returns the command and counts its tokens as sent.
func (r *request) command() string {
	r.of.sent.Add(r.n)
	if r.of.unit {
		return fmt.Sprintf(r.of.take, holders.Add(1))
	}
	return fmt.Sprintf(r.of.take, r.n)
}

// reserve returns the commands of a reservation that is settled, and of its settlement sent again.
func (c *counter) reserve() (requests []request, commands []string) {
	number := holders.Add(1)
	c.sent.Add(heldTokens)
	commit := fmt.Sprintf(c.commit, number)
	again := commit
	if c.again != "" {
		again = fmt.Sprintf(c.again, number)
	}
	return []request{{of: c, n: heldTokens, held: true}, {of: c, text: commit, unused: heldTokens - 1},
		{of: c, text: again}}, []string{fmt.Sprintf(c.take, number), commit, again}
}

// answered records a reply.
func (r *request) answered(reply any) error {
	list, ok := reply.([]any)
	switch {
	case isError(reply, "LOADING"), isError(reply, "MISCONF"):
		r.of.sent.Add(-r.n)
	case isError(reply, "UNCERTAIN"): // the disk hangs
	case !ok || len(list) < 3:
		return fmt.Errorf("reply to a take of %s = %v", r.of.key, reply)
	case list[0] == int64(1):
		r.of.sent.Add(-r.unused)
		if r.held {
			r.of.acked.Add(1)
		} else {
			r.of.acked.Add(r.n)
		}
		if r.text != "" {
			r.of.once.add(r.text)
		}
	case r.text != "":
		return fmt.Errorf("reply to %s = %v", r.text, reply)
	}
	return nil
}

// answeredBefore returns commands with ids that were answered before the last kill.
func answeredBefore(all []*counter) (requests []request, commands []string) {
	for _, c := range all {
		if c.once == nil {
			continue
		}
		for _, text := range c.once.take() {
			requests, commands = append(requests, request{of: c, text: text}), append(commands, text)
		}
	}
	return requests, commands
}

// loadCounters sends pipelines of takes until the connection is lost.
func loadCounters(address string, all []*counter, rng *rand.Rand) error {
	w, err := wireTo(address)
	if err != nil {
		return nil
	}
	defer w.Close()
	requests, commands := answeredBefore(all)
	for ; ; requests, commands = nil, nil {
		for range 1 + rng.IntN(40) {
			r := request{of: all[rng.IntN(len(all))], n: 1 + rng.Int64N(3)}
			if r.of.commit != "" {
				made, lines := r.of.reserve()
				requests, commands = append(requests, made...), append(commands, lines...)
				continue
			}
			if r.of.unit {
				r.n = 1
			}
			if r.of.pairedKey != "" {
				r.n = 7
			}
			text := r.command()
			if r.of.once != nil {
				r.text = text
			}
			requests, commands = append(requests, r), append(commands, text)
			if r.of.once != nil {
				requests, commands = append(requests, request{of: r.of, text: text}), append(commands, text)
			}
		}
		replies, lost := w.all(commands...)
		for i, reply := range replies {
			if reply == nil {
				break // no reply
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

// startLoad sends takes and counts over several connections, and takes snapshots
// continuously, until the server has ended.
func startLoad(address string, all []*counter, windows []*windowCount, seed uint64) (wait func() error) {
	const connections, counting = 4, 2
	var (
		running sync.WaitGroup
		ends    [connections + counting]error
	)
	for i := range ends {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		running.Go(func() {
			if i < connections {
				ends[i] = loadCounters(address, all, rng)
			} else {
				ends[i] = loadWindows(address, windows, rng)
			}
		})
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

// used returns the number of tokens used, from a reply of RL.PEEK or of RL.CHECK with PEEK.
func used(reply any, limit int64) (int64, error) {
	if reply == nil {
		return 0, nil
	}
	list, ok := reply.([]any)
	if !ok || len(list) != 5 && len(list) != 7 {
		return 0, fmt.Errorf("a peek is answered %v", reply)
	}
	remaining, ok := list[2].(int64)
	if !ok || list[1] != limit {
		return 0, fmt.Errorf("a peek is answered %v", reply)
	}
	return limit - remaining, nil
}

// audit returns an error for counters with fewer tokens used than acknowledged, or
// more than sent. Then it sets both numbers to the tokens used.
func audit(w *wire, all []*counter) error {
	var failures []error
	for _, c := range all {
		keys := []string{c.key}
		if c.pairedKey != "" {
			keys = append(keys, c.pairedKey)
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
				failures = append(failures,
					fmt.Errorf("%s has %d tokens used, with %d acknowledged and %d sent", key, got, c.acked.Load(), c.sent.Load()))
			}
			// The paired key must have the same count.
			c.acked.Store(got)
			c.sent.Store(got)
		}
	}
	return errors.Join(failures...)
}

// killCounts counts the activities of the server that were interrupted by a kill.
type killCounts struct{ recovery, snapshot, shutdown, rounds int }

// TestKill repeatedly kills the server with signal 9 at random times, and restarts it: all
// acknowledged tokens and counts must be counted, and no more than were sent.
func TestKill(t *testing.T) {
	testwait.Long(t)
	policies := []string{"always", "everysec", "no"}
	for i, fsync := range policies {
		t.Run(fsync, func(t *testing.T) {
			t.Parallel()
			seed := testwait.Seed(t)
			t.Logf("seed %d", seed)
			rules := filepath.Join(t.TempDir(), "rules.yaml")
			if err := os.WriteFile(rules, []byte(killRules), 0o600); err != nil {
				t.Fatal(err)
			}
			k := killer{
				args: []string{"--data", filepath.Join(t.TempDir(), "data"), "--fsync", fsync, "--snapshot-log-bytes", "1mb",
					"--rules", rules},
				rng: rand.New(rand.NewPCG(seed, uint64(i))), all: newCounters(), windows: newWindowCounts(),
			}
			begin, rounds := time.Now(), *kills/len(policies)
			for range rounds {
				if k.hits.rounds >= minKills && time.Since(begin) > time.Duration(rounds)*killTime {
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
			t.Logf("%d rounds, of which %d hit a recovery, %d a snapshot, %d a shutdown; %d tokens counted",
				k.hits.rounds, k.hits.recovery, k.hits.snapshot, k.hits.shutdown, counted)
			var told, scripted int64
			for _, c := range k.windows {
				if c.script == "" {
					told += c.most
				} else {
					scripted += c.most
				}
			}
			t.Logf("%d counts in windows, %d by scripts", told, scripted)
			if counted == 0 || told == 0 || scripted == 0 {
				t.Error("no tokens were counted, or nothing in windows, or by scripts")
			}
		})
	}
}

// A killer starts and kills servers on a data directory.
type killer struct {
	args []string
	rng  *rand.Rand
	all  []*counter
	hits killCounts

	windows []*windowCount
}

func (k *killer) dir() string   { return k.args[1] }
func (k *killer) fsync() string { return k.args[3] }

// random returns a duration below most.
func (k *killer) random(most time.Duration) time.Duration {
	return time.Duration(k.rng.Int64N(int64(most)))
}

// round starts a server and kills it.
func (k *killer) round(t *testing.T) {
	k.hits.rounds++
	var (
		r         *running
		awaitLoad = func() error { return nil }
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
		awaitLoad = startLoad(r.address, k.all, k.windows, k.rng.Uint64())
		time.Sleep(k.random(400 * time.Millisecond))
		if way < 5 {
			r.Process.Signal(syscall.SIGTERM)
			time.Sleep(k.random(60 * time.Millisecond))
		}
	}
	over := r.isOver()
	r.Process.Signal(syscall.SIGKILL)
	<-r.ended
	if err := awaitLoad(); err != nil {
		t.Error(err)
	}
	if over && r.ProcessState.ExitCode() != exitOK {
		t.Errorf("the server ended by itself with %v\n%s", r.ProcessState, r.logged())
	}
	if strings.Contains(r.logged(), "the disk has failed") && k.fsync() != "always" {
		t.Logf("round %d: the disk was too slow: decisions in that time may be lost", k.hits.rounds)
		for _, c := range k.all {
			if c.acked.Store(0); c.once != nil {
				c.once.take()
			}
		}
		for _, c := range k.windows {
			c.forget()
		}
	}
	k.countHit(r, over)
	if k.hits.rounds%5 == 0 {
		k.check(t)
	}
}

// countHit counts the activity that a kill interrupted.
func (k *killer) countHit(r *running, over bool) {
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

// verify waits until a server is loaded and audits it.
func (k *killer) verify(t *testing.T, r *running) {
	t.Helper()
	w := wired(t, r.address)
	w.loaded(t)
	if err := errors.Join(audit(w, k.all), auditWindows(w, k.windows)); err != nil {
		t.Errorf("%v\n%s", err, r.logged())
	}
	w.Close()
}

// check runs limitsrv check: a crash must not leave damage.
func (k *killer) check(t *testing.T) {
	t.Helper()
	if out, log, code := runs(t, limitsrv(nil, "check", k.dir())); code != exitOK && !strings.Contains(log, "is empty") {
		t.Errorf("check: exit %d: %s\n%s", code, log, out)
	}
}
