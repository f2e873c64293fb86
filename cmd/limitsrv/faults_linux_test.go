package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

var faultCount = flag.Int("faults", 30, "number of faults of TestFaults; TestFaultsInMemory has a third")

// A fault is a failure within a trio, and its end.
type fault struct {
	name     string
	lasts    time.Duration
	leads    bool               // the victim is the leader
	looks    int                // rounds of TestLooksDuringFaults
	possible func(d *disk) bool // nil: always
	strike   func(t *testing.T, c *trio, victim int) (undo func())
}

// faults are all kinds. After each fault every peer that has ended is restarted.
var faults = []fault{
	{name: "the leader is killed", lasts: time.Second, leads: true, strike: killOne},
	{name: "a follower is killed", lasts: time.Second, strike: killOne},
	{name: "all are killed", strike: killAll},
	{name: "the leader is stopped", lasts: 3 * time.Second, leads: true, looks: 6, strike: stopOne},
	{name: "the leader is stopped in a slow network", lasts: 3 * time.Second, leads: true, looks: 2,
		strike: func(t *testing.T, c *trio, victim int) func() {
			fast, resume := slow(t, c, victim), stopOne(t, c, victim)
			return func() { resume(); fast() }
		}},
	{name: "a follower is stopped", lasts: 3 * time.Second, strike: stopOne},
	{name: "the leader is isolated", lasts: 3 * time.Second, leads: true, looks: 1, strike: isolate},
	{name: "the leader can't send", lasts: 3 * time.Second, leads: true, looks: 1,
		strike: func(_ *testing.T, c *trio, victim int) func() {
			c.eachOther(victim, func(host string) { c.network.Cut(c.peers[victim].host, host) })
			return c.network.Heal
		}},
	{name: "the leader can't receive", lasts: 3 * time.Second, leads: true, looks: 1,
		strike: func(_ *testing.T, c *trio, victim int) func() {
			c.eachOther(victim, func(host string) { c.network.Cut(host, c.peers[victim].host) })
			return c.network.Heal
		}},
	{name: "the leader can't send to one follower", lasts: 3 * time.Second, leads: true,
		strike: func(_ *testing.T, c *trio, victim int) func() {
			c.network.Cut(c.peers[victim].host, c.peers[(victim+1)%len(c.peers)].host)
			return c.network.Heal
		}},
	{name: "the network is slow", lasts: 2 * time.Second, strike: slow},
	{name: "a follower has lost its disk", strike: replaceOne},
	{name: "a fourth joins and is removed", lasts: time.Second, strike: addOne},
	{name: "the disk of the leader is full", lasts: 2 * time.Second, leads: true,
		possible: func(d *disk) bool { return d.bounded },
		strike: func(t *testing.T, c *trio, victim int) func() {
			return succeeds(t)(c.peers[victim].disk.fill())
		}},
	{name: "the disk of the leader hangs", lasts: 3 * time.Second, leads: true,
		possible: func(d *disk) bool { return d.freezes },
		strike: func(t *testing.T, c *trio, victim int) func() {
			return succeeds(t)(c.peers[victim].disk.freeze())
		}},
}

// succeeds ends the test if a fault could not be applied.
func succeeds(t *testing.T) func(undo func(), err error) func() {
	return func(undo func(), err error) func() {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return undo
	}
}

func killOne(_ *testing.T, c *trio, victim int) func() {
	c.peers[victim].kill()
	return func() {}
}

func killAll(_ *testing.T, c *trio, _ int) func() {
	for _, m := range c.peers {
		m.Process.Signal(syscall.SIGKILL)
	}
	for _, m := range c.peers {
		<-m.ended
	}
	return func() {}
}

func stopOne(_ *testing.T, c *trio, victim int) func() {
	m := c.peers[victim]
	m.Process.Signal(syscall.SIGSTOP)
	return func() { m.Process.Signal(syscall.SIGCONT) }
}

func isolate(_ *testing.T, c *trio, victim int) func() {
	c.network.Isolate(c.peers[victim].host)
	return c.network.Heal
}

func slow(_ *testing.T, c *trio, _ int) func() {
	c.delay(50 * time.Millisecond)
	return func() { c.delay(0) }
}

func replaceOne(t *testing.T, c *trio, victim int) func() {
	c.peers[victim].kill()
	c.peers[victim].wipe(t)
	return func() {}
}

func addOne(t *testing.T, c *trio, _ int) func() {
	c.fourth.wipe(t)
	c.fourth.start(t)
	c.awaitVoters(t, len(c.peers)+1)
	return func() {
		await(t, "the fourth is forgotten", func() bool {
			replies, err := c.peers[0].ask("CLUSTER FORGET " + c.fourth.raft)
			return err == nil && replies[0] == "OK"
		})
		c.fourth.kill()
	}
}

// delay delays all links.
func (c *trio) delay(d time.Duration) {
	for i, m := range c.peers {
		c.eachOther(i, func(host string) { c.network.Delay(m.host, host, d) })
	}
}

// eachOther calls do with the hosts of all peers except the peer one.
func (c *trio) eachOther(one int, do func(host string)) {
	for i, m := range c.peers {
		if i != one {
			do(m.host)
		}
	}
}

// gaps are the longest times without a decision, by the name of the fault.
type gaps map[string][]time.Duration

// faultTime is the time budget per fault. On a busy machine there are fewer faults, but
// each kind at least once.
const faultTime = 10 * time.Second

// maxGap bounds the time without decisions on an idle machine, beyond the duration of
// the fault.
const maxGap = 10 * time.Second

// apply applies a fault and waits until the trio has recovered.
func (c *trio) apply(t *testing.T, f fault, rng *rand.Rand, p *loadClients, all gaps) {
	t.Helper()
	victim := -1
	await(t, "a peer leads", func() bool {
		victim = c.leader()
		return victim >= 0
	})
	if !f.leads {
		victim = (victim + 1 + rng.IntN(len(c.peers)-1)) % len(c.peers)
	}
	p.longestGap()
	undo := f.strike(t, c, victim)
	time.Sleep(f.lasts)
	undo()
	c.awaitRecovery(t)
	all[f.name] = append(all[f.name], p.longestGap())
	time.Sleep(time.Duration(rng.Int64N(int64(500 * time.Millisecond))))
}

// onOwnDisks in the environment is the directory for disks, in a process with its own
// mounts.
const onOwnDisks = "TEST_BINARY_DISKS"

// TestFaults applies faults to a cluster of processes while clients take permits of
// keys from all of its peers. All replies must be consistent with a single server
// without failures, and all peers must end in the same state.
//
// It runs in a process of its own that mounts a disk for each peer, if that is
// permitted; otherwise faults of disks are skipped.
func TestFaults(t *testing.T) {
	testwait.Long(t)
	if dir := os.Getenv(onOwnDisks); dir != "" {
		goThrough(t, ownDisks(t, dir), *faultCount, "--fsync", "always")
		return
	}
	var failures []error
	for _, namespaces := range []uintptr{syscall.CLONE_NEWNS, syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER} {
		out, err := inNamespaces(t, namespaces, onOwnDisks+"="+t.TempDir(), fmt.Sprintf("-faults=%d", *faultCount),
			fmt.Sprintf("-test.timeout=%v", testwait.Scaled(recoverWait)*time.Duration(2+*faultCount)))
		var ended *exec.ExitError
		switch {
		case err == nil && !strings.Contains(out, "--- SKIP"):
			t.Log(out)
			return
		case errors.As(err, &ended):
			t.Fatalf("%v\n%s", err, out)
		}
		failures = append(failures, fmt.Errorf("%s%v", out, err))
	}
	t.Logf("no faults of disks: %v", errors.Join(failures...))
	goThrough(t, directories(t), *faultCount, "--fsync", "always")
}

// TestFaultsInMemory is TestFaults with decisions that are answered once a majority has
// them in the memory of the operating system, which survives the process.
func TestFaultsInMemory(t *testing.T) {
	goThrough(t, directories(t), *faultCount/3, "--ack", "memory", "--fsync", "no")
}

// directories returns disks that never fail.
func directories(t *testing.T) (all []*disk) {
	for range peerCount {
		all = append(all, &disk{dir: t.TempDir()})
	}
	return all
}

const (
	peerCount    = 3
	ownDiskBytes = 96 << 20
)

// ownDisks mounts disks: disks that can hang if that is permitted, otherwise disks of
// limited size.
func ownDisks(t *testing.T, dir string) (all []*disk) {
	for i := range peerCount {
		d := &disk{dir: filepath.Join(dir, fmt.Sprint(i)), bounded: true}
		image := d.dir + ".ext4"
		if err := errors.Join(os.Mkdir(d.dir, 0o700), os.WriteFile(image, nil, 0o600),
			os.Truncate(image, ownDiskBytes)); err != nil {
			t.Fatal(err)
		}
		made := exec.Command("mkfs.ext4", "-q", "-O", "^has_journal", image).Run()
		if made == nil {
			made = exec.Command("mount", "-o", "loop", image, d.dir).Run()
		}
		if made == nil {
			d.freezes = true
		} else if err := syscall.Mount("limitsrv-test", d.dir, "tmpfs", 0, fmt.Sprintf("size=%d", ownDiskBytes)); err != nil {
			t.Skip("mount: " + err.Error()) // the parent process treats this as a failure
		}
		t.Cleanup(func() { syscall.Unmount(d.dir, syscall.MNT_DETACH) })
		all = append(all, d)
	}
	return all
}

// goThrough applies count faults to a trio, each kind equally often.
func goThrough(t *testing.T, disks []*disk, count int, options ...string) {
	t.Helper()
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	c := startTrio(t, disks, options...)
	c.awaitRecovery(t)
	p := newLoadClients(limiterHistory)
	p.start(c.addresses(), seed)
	possible := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return f.possible != nil && !f.possible(disks[0])
	})
	seen := gaps{}
	begin := time.Now()
	for i := range count {
		if i >= len(possible) && time.Since(begin) > time.Duration(count)*faultTime {
			t.Logf("%d of %d faults, on a busy machine", i, count)
			break
		}
		if i%len(possible) == 0 {
			rng.Shuffle(len(possible), func(i, j int) { possible[i], possible[j] = possible[j], possible[i] })
		}
		c.apply(t, possible[i%len(possible)], rng, p, seen)
	}
	p.awaitDenial(t)
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	c.awaitSameState(t)
	for _, m := range c.peers {
		if err := p.audit(wired(t, m.client)); err != nil {
			t.Errorf("audit of %s: %v", m.host, err)
		}
	}
	seen.report(t)
	given, denied, doubted := p.counts()
	t.Logf("%d faults; %d permits of %d keys, %d denials, %d takes in doubt", count, given, len(p.all), denied, doubted)
	if given == 0 || denied == 0 {
		t.Error("no permits were granted, or none denied")
	}
}

// report logs the times without decisions.
func (l gaps) report(t *testing.T) {
	for _, f := range faults {
		if all := l[f.name]; len(all) > 0 {
			slices.Sort(all)
			t.Logf("%s: no decisions for %v (median of %d), %v at most", f.name,
				all[len(all)/2].Round(time.Millisecond), len(all), all[len(all)-1].Round(time.Millisecond))
			if most := all[len(all)-1]; most > testwait.Scaled(f.lasts+maxGap) {
				t.Errorf("%s: no decisions for %v", f.name, most)
			}
		}
	}
}
