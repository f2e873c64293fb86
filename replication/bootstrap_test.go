package replication

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
	"limitsrv/persist"
	"limitsrv/replication/storage"
)

// refused opens a node and requires an error.
func refused(t *testing.T, o Options, want string) {
	t.Helper()
	n, err := Open(o)
	if err == nil {
		n.Close(context.Background())
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it is opened with %v, want %q", err, want)
	}
}

// A node that may lack acknowledged entries gets a new id when the system went down before
// it was closed; a closed link keeps its id.
func TestLostTailChangesNodeID(t *testing.T) {
	t.Parallel()
	var boots atomic.Int64
	boot := func() string { return string(rune('a' + boots.Load())) }
	for _, tt := range []struct {
		name         string
		ack          Ack
		clean, boots bool
		isNew        bool
	}{
		{"closed, another boot", AckMemory, true, true, false},
		{"killed, the same boot", AckMemory, false, false, false},
		{"killed, another boot", AckMemory, false, true, true},
		{"killed, another boot, and synced", AckDisk, false, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := startCluster(t, 3, func(o *Options) { o.boot, o.Ack = boot, tt.ack })
			c.takeAll(c.leader(), "")
			n := c.other(c.leader())
			was := n.member()
			c.close(n)
			if !tt.clean {
				// Its membership as of before it was closed.
				if err := was.Write(&persist.Dir{Path: n.o.Dir, FS: n.o.fs}); err != nil {
					t.Fatal(err)
				}
			}
			if tt.boots {
				boots.Add(1)
			}
			again := c.open(n.o)
			c.nodes = append(c.nodes, again)
			eventually(t, "it is a member", func() bool { return again.leadership().stack != nil })
			if now := again.identity(); (now.Node != was.Node) != tt.isNew || now.Cluster != was.Cluster {
				t.Errorf("it is %v and was %v", now, was.Node)
			}
			c.voters(3)
			c.takeAll(again, " again")
			c.waitForAgreement()
			if tt.isNew && c.has(was.Node) {
				t.Error("the node that it was is a member")
			}
		})
	}
}

func TestBootstrapRequiresEqualPeers(t *testing.T) {
	t.Parallel()
	c := &testCluster{t: t, logs: new(testwait.Log)}
	addresses := freeAddresses(t, 3)
	for i, peers := range [][]string{addresses[:2], addresses} {
		o := c.options(filepath.Join(t.TempDir(), "data"), addresses[i])
		o.Peers = peers
		c.nodes = append(c.nodes, c.open(o))
	}
	third := c.options(t.TempDir(), addresses[2])
	third.Peers = addresses
	c.nodes = append(c.nodes, c.open(third))
	eventually(t, "the mismatch is logged",
		func() bool { return strings.Contains(c.logs.String(), "they must be the same") })
	for _, n := range c.nodes {
		if id := n.identity(); !id.Cluster.IsZero() {
			t.Errorf("%s bootstrapped %v", n.o.Raft, id.Cluster)
		}
	}
}

// A founder that was killed before it told all other nodes continues the bootstrap.
func TestBootstrapContinuesAfterCrash(t *testing.T) {
	t.Parallel()
	for _, count := range []int{0, 1, 2} {
		c := startCluster(t, 3, func(o *Options) { o.Dir += " before" })
		founding := []storage.Server{}
		for _, n := range c.nodes {
			founding = append(founding, n.self())
		}
		dirs := []string{}
		for _, n := range append([]*Node(nil), c.nodes...) {
			dirs = append(dirs, n.o.Dir)
			c.close(n)
		}
		m := storage.Membership{Node: founding[0].Node, Cluster: storage.NewClusterID(), Seed: persist.Seed{1},
			Founding: founding, Clean: true}
		for i, dir := range dirs {
			o := c.options(strings.TrimSuffix(dir, " before"), founding[i].Raft)
			o.Peers = c.peers
			o.setDefaults()
			d, err := persist.OpenDir(o.fs, o.Dir)
			if err != nil {
				t.Fatal(err)
			}
			was := storage.Membership{Node: founding[i].Node, Clean: true}
			if i == 0 {
				was = m
			} else if i <= count {
				was.Cluster, was.Seed = m.Cluster, m.Seed
			}
			if err := was.Write(d); err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			c.nodes = append(c.nodes, c.open(o))
		}
		c.voters(3)
		for _, n := range c.nodes {
			c.takeAll(n, n.o.Raft)
			if n.identity().Cluster != m.Cluster {
				t.Errorf("with %d nodes told, %s is in another cluster", count, n.o.Raft)
			}
		}
		c.waitForAgreement()
		if left := c.nodes[0].member().Founding; len(left) > 0 {
			t.Errorf("with %d nodes told, the bootstrap continues with %v", count, left)
		}
	}
}

func TestSingleServerStateIsRefused(t *testing.T) {
	t.Parallel()
	c := &testCluster{t: t, logs: new(testwait.Log)}
	single := persist.Options{Dir: t.TempDir(), Engine: engine.Options{}, Clock: fixedClock{}}
	store, err := persist.Open(single)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(t.Context(), persist.SaveAlways); err != nil {
		t.Fatal(err)
	}
	o := c.options(single.Dir, freeAddresses(t, 1)[0])
	o.Peers = []string{o.Raft}
	refused(t, o, "without --raft")

	o.Dir = t.TempDir()
	c.nodes = append(c.nodes, c.open(o))
	c.leader()
	c.close(c.nodes[0])
	single.Dir = o.Dir
	if store, err = persist.Open(single); err == nil || !strings.Contains(err.Error(), "--raft") {
		t.Errorf("the directory of a node of a cluster is opened: %v", err)
	}
	if err == nil {
		store.Close(t.Context(), persist.SaveNever)
	}
}

type fixedClock struct{}

func (fixedClock) Now() engine.Instant { return 1 }

func TestOptionsAreChecked(t *testing.T) {
	c := &testCluster{t: t, logs: new(testwait.Log)}
	address := freeAddresses(t, 1)[0]
	for want, change := range map[string]func(*Options){
		"--raft must be HOST:PORT":       func(o *Options) { o.Raft = "somewhere" },
		"--raft must name a host":        func(o *Options) { o.Raft = "0.0.0.0:7000" },
		"--peers must be HOST:PORT":      func(o *Options) { o.Peers = []string{address, "b:0"} },
		"--join must be HOST:PORT":       func(o *Options) { o.Join = []string{":7000"} },
		"--peers must list all founding": func(o *Options) { o.Peers = []string{"127.0.0.2:7000"} },
		"--peers names a node twice":     func(o *Options) { o.Peers = []string{address, address} },
		"election timeout":               func(o *Options) { o.ElectionTimeout = -1 },
	} {
		o := c.options(t.TempDir(), address)
		change(&o)
		refused(t, o, want)
	}
}
