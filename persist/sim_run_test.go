package persist

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/internal/testing/simtest"
	"limitsrv/internal/testing/testwait"
)

var simFlags = simtest.NewFlags()

// TestSim runs a Store through troubles of every kind, in virtual time, and compares the
// clients' answers with its log. Each run has another fsync policy than the run before.
func TestSim(t *testing.T) {
	testwait.Long(t)
	simFlags.Run(t, simulate)
}

// simulate does a run. The seed determines the plan and the troubles, but not the order of
// the goroutines.
func simulate(t *testing.T, seed uint64, length time.Duration) {
	began := time.Now()
	n, faults, output := new(simNode), []string(nil), ""
	func() {
		defer func() { n.forgive(recover()) }()
		synctest.Test(t, func(t *testing.T) {
			n = newSimNode(simPlanOf(seed, length))
			faults, output = n.run()
		})
	}()
	for _, fault := range faults {
		t.Error(fault)
	}
	if len(faults) > 0 {
		t.Logf("last log lines:\n%s", output)
	}
	speed := length.Seconds() / time.Since(began).Seconds()
	t.Logf("%v\n%s\n%.0f times as fast as time; again: -run '^TestSim$' -sim-seed %d", &n.plan, n.summary(), speed, seed)
}

// simAbandoned are the log messages about an abandoned store of the snapshots, with blocked
// goroutines of Pebble. See store.close.
var simAbandoned = []string{"pebble reported a fatal error", "pebble panicked"}

// forgive passes on a panic, except the panic of synctest about blocked goroutines if the
// run abandoned a store.
func (n *simNode) forgive(p any) {
	abandoned := 0
	for _, text := range simAbandoned {
		abandoned += n.logs.Count(text)
	}
	if p != nil && (abandoned == 0 || !strings.Contains(fmt.Sprint(p), "blocked goroutines remain")) {
		panic(p)
	}
}

func simPlanOf(seed uint64, length time.Duration) simPlan {
	rng := rand.New(rand.NewPCG(seed, 2))
	return simPlan{
		seed: seed, length: length,
		policy:   Policy(seed % uint64(len(policies))),
		logBytes: []int64{16 << 10, 64 << 10, 1 << 20}[rng.IntN(3)],
		slow:     []time.Duration{0, 5 * time.Millisecond, 50 * time.Millisecond}[rng.IntN(3)],
	}
}

func (p *simPlan) String() string {
	return fmt.Sprintf("%v, fsync %v, snapshots after %d bytes, appends within %v", p.length, p.policy, p.logBytes, p.slow)
}

// run performs the run and returns its faults.
func (n *simNode) run() (faults []string, output string) {
	n.history.ChangesOnly = n.plan.policy != Always
	n.start()
	for range simClients {
		n.wait.Go(n.client)
	}
	for end := time.Now().Add(n.plan.length); time.Now().Before(end) && !n.history.Failed(); {
		n.round()
	}
	n.restart()
	n.repair("the end")
	n.askEverything()
	output = n.logs.Last()
	close(n.ending)
	n.restart()
	n.wait.Wait()
	return n.history.check(), output
}

// askEverything makes calls of everything that Apply knows, and has a start replay it.
func (n *simNode) askEverything() {
	p := n.running()
	n.mu.Lock()
	all := n.keys.Everything(n.rng)
	n.mu.Unlock()
	for _, next := range all {
		known := n.history.Known()
		n.mu.Lock()
		n.keys.Known = known
		r := next()
		n.mu.Unlock()
		p.ask(r)
	}
	p.transact()
	n.history.CheckAsked()
	n.crash(100)
	n.repair("a crash after everything")
}

// round is a quiet period, followed by troubles until all is repaired.
func (n *simNode) round() {
	time.Sleep(n.between(0, 35*time.Second))
	n.setBusy(true)
	names := ""
	for range 1 + n.intN(5)/4 {
		t := n.pick()
		t.do(n)
		names += t.name + "; "
		n.stats[t.name]++
	}
	time.Sleep(n.between(0, 10*time.Second))
	n.repair(names)
	n.setBusy(false)
}

func (n *simNode) setBusy(busy bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.busy = busy
}

func (n *simNode) summary() string {
	all := 0
	for _, k := range n.stats {
		all += k
	}
	return fmt.Sprintf("%s; %d entries lost; %d troubles: %v; %s", n.history.Summary(), n.history.lost, all, n.stats,
		n.logs.Counts())
}
