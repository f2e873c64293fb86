package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"limitsrv/internal/testing/faultnet"
	"limitsrv/internal/testing/testwait"
)

// A trio is a cluster of three servers, each on a host of its own. Their traffic with
// each other goes through a network that can be broken; clients connect directly.
type trio struct {
	network *faultnet.Network
	peers   []*peer
	fourth  *peer // joins and is removed; not in peers
}

// A peer is one server of a trio, running or not.
type peer struct {
	*running
	host   string
	raft   string // address for peers
	client string // address for clients
	args   []string
	disk   *disk
}

// electionTimeout is the --election-timeout of a trio on an idle machine. It is scaled
// on a busy machine, so that a peer without CPU time is not considered failed.
const electionTimeout = 300 * time.Millisecond

// frontHost is the host of fronts before a trio.
const frontHost = "127.0.0.1"

// startTrio starts three servers with the same options, each with its state on a disk.
func startTrio(t *testing.T, disks []*disk, options ...string) *trio {
	testwait.Long(t)
	t.Helper()
	var hosts, public []string
	for i := range peerCount + 1 {
		hosts = append(hosts, fmt.Sprintf("127.77.3.%d", i+1))
	}
	c := &trio{network: faultnet.New(append(hosts, frontHost)...)}
	t.Cleanup(c.network.Close)
	for i, host := range hosts {
		inside := freeAddressOf(t, host)
		outside, err := c.network.Expose(host+":0", inside)
		if err != nil {
			t.Fatal(err)
		}
		m := &peer{host: host, raft: outside, client: freeAddressOf(t, host), disk: &disk{dir: t.TempDir()}}
		if i < peerCount {
			m.disk = disks[i]
			c.peers, public = append(c.peers, m), append(public, outside)
		} else {
			c.fourth = m
		}
		m.args = append([]string{
			"--data", m.data(), "--snapshot-log-bytes", "1mb", "--election-timeout",
			testwait.Scaled(electionTimeout).Round(time.Millisecond).String(),
			"--raft", outside, "--raft-bind", inside, "--cluster-secret", testSecret,
		}, options...)
	}
	c.fourth.args = append(c.fourth.args, "--join", strings.Join(public, ","))
	for _, m := range c.peers {
		m.args = append(m.args, "--peers", strings.Join(public, ","))
		m.start(t)
	}
	return c
}

// data returns the data directory.
func (m *peer) data() string { return filepath.Join(m.disk.dir, "data") }

// wipe removes the state of a peer that is not running.
func (m *peer) wipe(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(m.data()); err != nil {
		t.Fatal(err)
	}
}

// start starts a peer that is not running.
func (m *peer) start(t *testing.T) {
	t.Helper()
	m.running = launchAt(t, m.client, m.args...)
}

// kill kills a running peer.
func (m *peer) kill() {
	m.Process.Signal(syscall.SIGKILL)
	<-m.ended
}

// ask sends commands to a peer over a new connection.
func (m *peer) ask(commands ...string) ([]any, error) {
	w, err := wireWithin(m.client, takeWait)
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return w.all(commands...)
}

// addresses returns the addresses of the peers for clients.
func (c *trio) addresses() (all []string) {
	for _, m := range c.peers {
		all = append(all, m.client)
	}
	return all
}

// leader returns the index of the only peer that reports itself as leader, or -1 if not
// exactly one peer does.
func (c *trio) leader() int {
	found := -1
	for i, m := range c.peers {
		replies, err := m.ask("INFO replication")
		if err != nil || !strings.Contains(fmt.Sprint(replies[0]), "role:master\r\n") {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}

// recoverWait bounds the time after a fault until every peer decides.
const recoverWait = time.Minute

// await waits for an event of a trio.
func await(t *testing.T, event string, happens func() bool) {
	t.Helper()
	testwait.Until(t, recoverWait, event, happens)
}

// awaitRecovery waits until every peer decides, or has its leader decide, and is a
// voter. It restarts peers that have ended.
func (c *trio) awaitRecovery(t *testing.T) {
	t.Helper()
	waiting := slices.Clone(c.peers)
	testwait.Retry(t, recoverWait, func() error {
		for len(waiting) > 0 {
			c.revive(t)
			m := waiting[0]
			replies, err := m.ask("RL.FIXED recovery 1000000000 3650d")
			if err != nil || !strings.HasPrefix(fmt.Sprint(replies[0]), "[1 ") {
				return fmt.Errorf("%s does not decide after a fault: %v, %v\n%s", m.host, replies, err, m.tail())
			}
			waiting = waiting[1:]
		}
		return nil
	})
	c.awaitVoters(t, len(c.peers))
}

// awaitVoters waits until there are n members, all of them voters.
func (c *trio) awaitVoters(t *testing.T, n int) {
	t.Helper()
	want := fmt.Sprintf("raft_nodes:%d\r\nraft_voters:%[1]d\r\n", n)
	await(t, fmt.Sprintf("%d have a vote", n), func() bool {
		replies, err := c.peers[max(0, c.leader())].ask("INFO raft")
		return err == nil && strings.Contains(fmt.Sprint(replies[0]), want)
	})
}

// revive restarts the peers that have ended, because they were killed or gave up their
// disks.
func (c *trio) revive(t *testing.T) {
	t.Helper()
	for _, m := range c.peers {
		if !m.isOver() {
			continue
		}
		if m.ProcessState.Exited() &&
			(m.ProcessState.ExitCode() != exitFailure || !strings.Contains(m.logged(), "the node failed")) {
			t.Errorf("%s has ended by itself with %v\n%s", m.host, m.ProcessState, m.tail())
		}
		m.start(t)
	}
}

// tail returns the end of the log of a peer.
func (m *peer) tail() string {
	log := m.logged()
	return log[max(0, len(log)-4000):]
}

// awaitSameState waits until all peers have applied the same entries, and compares
// their states.
func (c *trio) awaitSameState(t *testing.T) {
	t.Helper()
	testwait.Retry(t, recoverWait, func() error {
		var got []string
		reported := 0
		for _, m := range c.peers {
			replies, err := m.ask("CLUSTER DIGEST")
			if err == nil && !isError(replies[0], "ERR") {
				reported++
			}
			got = append(got, fmt.Sprint(replies, err))
		}
		if reported != len(c.peers) || len(slices.Compact(slices.Clone(got))) != 1 {
			return fmt.Errorf("the peers are at\n%s", strings.Join(got, "\n"))
		}
		return nil
	})
}

// A disk is a directory with the state of a peer, which may fail separately.
type disk struct {
	dir     string
	bounded bool // fill is supported
	freezes bool // freeze is supported
}

// fill uses all space of the disk. undo frees it.
func (d *disk) fill() (undo func(), err error) {
	name := filepath.Join(d.dir, "filler")
	fd, err := syscall.Open(name, syscall.O_CREAT|syscall.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	for block := make([]byte, 1<<20); len(block) > 0; {
		_, err := syscall.Write(fd, block)
		switch {
		case errors.Is(err, syscall.ENOSPC):
			block = block[:len(block)/2]
		case err != nil:
			return nil, err
		}
	}
	return func() { syscall.Unlink(name) }, nil
}

// From linux/fs.h: _IOWR('X', 119, int) and _IOWR('X', 120, int).
const (
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

// freeze makes writes to the disk hang. undo ends that.
func (d *disk) freeze() (undo func(), err error) {
	fd, err := syscall.Open(d.dir, syscall.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	if err := control(fd, fiFreeze); err != nil {
		syscall.Close(fd)
		return nil, err
	}
	return func() {
		control(fd, fiThaw)
		syscall.Close(fd)
	}, nil
}

func control(fd int, request uintptr) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, 0)
	if errno != 0 {
		return fmt.Errorf("ioctl %s: %w", strconv.FormatUint(uint64(request), 16), errno)
	}
	return nil
}
