package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/commands"
	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication"
	"limitsrv/testwait"
)

// scriptFiles are the golden scripts of the commands; commands tests a node by
// itself with them.
const scriptFiles = "../../commands/testdata/*.txt"

// Scripts that need a fake of what they are about.
var faked = []string{"cluster.txt", "members.txt", "replicated.txt", "save.txt", "users.txt"}

// Scripts whose connections are all to one node: what they are about is a node's own.
var onOneNode = map[string]string{
	"client.txt":  "CLIENT LIST, KILL and ids are of a node's connections",
	"monitor.txt": "MONITOR shows what a node's connections send",
	"pause.txt":   "CLIENT PAUSE holds back a node's connections",
	"pubsub.txt":  "messages go to a node's connections",
}

// Commands that a node of a cluster answers otherwise than a node by itself.
var otherwise = map[string]string{
	"ASKING":    "is for nodes of a cluster only",
	"BGSAVE":    "there is a snapshot to make",
	"CLUSTER":   "there is a cluster",
	"CONFIG":    "the state is kept, as appendonly and appendfsync tell",
	"DEBUG":     "the time of a cluster is made of its nodes' clocks, and not moved",
	"HELLO":     "it tells the role of the node, and an id that counts its connections",
	"INFO":      "it tells of this node",
	"READONLY":  "is for nodes of a cluster only",
	"READWRITE": "is for nodes of a cluster only",
	"ROLE":      "there are other nodes",
	"SAVE":      "there is a snapshot to make",
	"SHUTDOWN":  "there is a snapshot to make",
	"WAIT":      "there are other nodes",
}

// Commands that a node answers by what it has carried out itself, which on a
// follower may be a moment behind.
var own = []string{"CLUSTER", "DBSIZE", "INFO", "KEYS", "MEMORY", "OBJECT", "RANDOMKEY", "RL.STATS", "RL.TOP", "SCAN", "TIME"}

// A stage is where a script is played: a node by itself, or those of a cluster,
// with the same clock.
type stage struct {
	config   []commands.Config // of each node
	commit   []func()
	handlers []*commands.Handler
	actors   map[string]*actor
	first    int  // the node of the first connection
	together bool // all others are to that one too
}

// An actor is a connection of a script.
type actor struct {
	*commands.Session
	commit func()
	woken  chan struct{}
}

// begin begins anew, with a password if there is one.
func (s *stage) begin(password string) {
	s.actors, s.handlers = make(map[string]*actor), nil
	for _, c := range s.config {
		c.Password = password
		s.handlers = append(s.handlers, commands.NewHandler(c))
	}
}

// actor is the connection of a name: each goes to the next node.
func (s *stage) actor(name string) *actor {
	if a := s.actors[name]; a != nil {
		return a
	}
	i := s.first
	if !s.together {
		i += len(s.actors)
	}
	i %= len(s.handlers)
	a := &actor{commit: s.commit[i], woken: make(chan struct{}, 64)}
	a.Session = s.handlers[i].NewSession(commands.Client{
		Addr: fmt.Sprintf("127.0.0.1:%d", 5000+len(s.actors)), LocalAddr: "127.0.0.1:6379",
		Since: time.Now(), Close: func() {}, Wake: func() { a.woken <- struct{}{} },
	})
	s.actors[name] = a
	return a
}

// send sends commands at once and returns the replies; none: what others have sent.
func (s *stage) send(t *testing.T, name string, all [][][]byte) string {
	t.Helper()
	a := s.actor(name)
	for _, args := range all {
		for !a.Do(args) {
			a.await(t)
		}
	}
	for !a.Flush() {
		a.await(t)
	}
	if len(all) == 0 {
		a.Resume()
	}
	out := string(a.Out)
	a.Out = nil
	if a.Closing() {
		a.Close()
		delete(s.actors, name)
		out += "(closed)"
	}
	return out
}

// await waits until what is away has come back.
func (a *actor) await(t *testing.T) {
	t.Helper()
	a.commit()
	select {
	case <-a.woken:
		a.Resume()
	case <-time.After(testwait.Scaled(3 * wait)):
		t.Fatalf("no answer within %v", 3*wait)
	}
}

// scriptConfig is what all nodes of all stages have in common.
func scriptConfig() commands.Config {
	return commands.Config{
		Version: "0.0.0-test", Shutdown: func(commands.Parting) {},
		Options: func() []commands.Option { return []commands.Option{{Name: "listen", Value: "127.0.0.1:6379"}} },
	}
}

// byItself is the stage of one node, whose engine has a seed.
func byItself(clock *commands.TestClock, seed persist.Seed) *stage {
	c, e := scriptConfig(), engine.New(engine.Options{Seed: seed})
	c.Exec, c.Clock, c.TestClock = &commands.Local{Engine: e, Clock: clock}, clock, clock
	c.Engine = func() *engine.Engine { return e }
	return &stage{config: []commands.Config{c}, commit: []func(){func() {}}}
}

// asCluster is the stage of three nodes, which are returned as well, with the seed
// of their engines.
func asCluster(t *testing.T, clock *commands.TestClock) (*stage, []*replication.Node, persist.Seed) {
	var (
		s     stage
		nodes []*replication.Node
		dir   = t.TempDir()
		peers []string
		start = clock.Now()
	)
	for range 3 {
		peers = append(peers, freeAddress(t))
	}
	slices.Sort(peers)
	// The first founds the cluster, with the seed of its directory.
	founder, err := persist.OpenDir(vfs.Default, filepath.Join(dir, peers[0]))
	if err != nil {
		t.Fatal(err)
	}
	seed := founder.Seed
	if err := founder.Close(); err != nil {
		t.Fatal(err)
	}
	for _, address := range peers {
		n, err := replication.Open(replication.Options{
			Dir: filepath.Join(dir, address), Raft: address, Peers: peers, Client: address, Version: version,
			Ack: replication.AckMemory, Fsync: persist.Never, ElectionTimeout: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
			Wall: clock.Now, Monotonic: func() time.Duration { return time.Duration(clock.Now() - start) },
			Fatal: func(err error) { t.Errorf("%s can't go on: %v", address, err) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := n.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		r := clusterAdapter{&clusterState{n}, &options{ClusterMode: "off", Raft: address}}
		c := scriptConfig()
		c.Exec, c.Engine, c.Clock, c.Store, c.Cluster = n, n.Engine, n, r, r
		s.config, s.commit, nodes = append(s.config, c), append(s.commit, n.Commit), append(nodes, n)
	}
	return &s, nodes, seed
}

// A play is a script on both stages, which are to answer alike.
type play struct {
	alone, cluster *stage
	nodes          []*replication.Node
	clock          *commands.TestClock
}

// Every command does on three nodes, asked at any of them, what it does on one.
func TestScriptsOnThreeNodes(t *testing.T) {
	files, err := filepath.Glob(scriptFiles)
	if err != nil || len(files) < 30 {
		t.Fatalf("%d scripts: %v", len(files), err)
	}
	clock := commands.NewTestClock(engine.Instant(1e18))
	cluster, nodes, seed := asCluster(t, clock)
	p := &play{alone: byItself(clock, seed), cluster: cluster, nodes: nodes, clock: clock}
	until(t, "they have a leader", func() bool {
		return slices.ContainsFunc(nodes, func(n *replication.Node) bool {
			st := n.Status()
			return st.Role == replication.Leader && st.HasQuorum
		})
	})
	for first := range nodes {
		for _, file := range files {
			name := filepath.Base(file)
			if slices.Contains(faked, name) {
				continue
			}
			t.Run(fmt.Sprintf("%s from node %d", name, first), func(t *testing.T) {
				_, cluster.together = onOneNode[name]
				cluster.first = first
				p.begin(t, "")
				p.compare(t, "a", [][][]byte{words("CONFIG SET slowlog-log-slower-than -1")}) // that is a matter of luck
				p.compare(t, "a", [][][]byte{words("FLUSHALL")})
				datadriven.RunTest(t, file, p.do)
			})
		}
	}
}

func words(line string) (args [][]byte) {
	for word := range strings.FieldsSeq(line) {
		args = append(args, []byte(word))
	}
	return args
}

func (p *play) begin(t *testing.T, password string) {
	t.Helper()
	p.alone.begin(password)
	p.cluster.begin(password)
}

// do plays a step of a script, as commands' scripts have them.
func (p *play) do(t *testing.T, d *datadriven.TestData) string {
	name := "a"
	if len(d.CmdArgs) > 0 {
		name = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "advance":
		by, err := time.ParseDuration(name)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		p.settle(t)
		if err := p.clock.Advance(by); err != nil {
			d.Fatalf(t, "%v", err)
		}
	case "server":
		var password string
		d.ScanArgs(t, "password", &password)
		p.begin(t, password)
	case "resp3":
		p.compare(t, name, [][][]byte{words("HELLO 3")})
	case "receive":
		p.compare(t, name, nil)
	case "send", "pipeline":
		var all [][][]byte
		for line := range strings.Lines(strings.TrimSpace(d.Input)) {
			args, err := splitLine(strings.TrimSuffix(line, "\n"))
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			if d.Cmd == "send" {
				p.compare(t, name, [][][]byte{args})
			}
			all = append(all, args)
		}
		if d.Cmd == "pipeline" {
			p.compare(t, name, all)
		}
	default:
		d.Fatalf(t, "unknown directive %s", d.Cmd)
	}
	return d.Expected
}

// compare sends commands on both stages.
func (p *play) compare(t *testing.T, name string, all [][][]byte) {
	t.Helper()
	first := ""
	if len(all) > 0 && len(all[0]) > 0 {
		first = strings.ToUpper(string(all[0][0]))
	}
	if slices.Contains(own, first) {
		p.settle(t)
	}
	want := p.alone.send(t, name, all)
	got := p.cluster.send(t, name, all)
	if _, ok := otherwise[first]; ok && got != "" {
		return
	}
	if got != want {
		t.Errorf("%q: three nodes answer %q, one %q", all, got, want)
	}
}

// settle waits until all nodes have carried out the same entries, and holds their
// states to each other.
func (p *play) settle(t *testing.T) {
	t.Helper()
	digests := make(map[uint64]bool)
	until(t, "all nodes have come as far", func() bool {
		clear(digests)
		indexes := make(map[uint64]bool)
		for _, n := range p.nodes {
			index, digest := n.Digest()
			indexes[index], digests[digest] = true, true
		}
		return len(indexes) == 1
	})
	if len(digests) > 1 {
		t.Errorf("the nodes have %d states", len(digests))
	}
}

// splitLine splits a line of a script into words; those that begin with " are
// unquoted.
func splitLine(line string) (args [][]byte, err error) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		word, _, _ := strings.Cut(line, " ")
		if line[0] != '"' {
			args, line = append(args, []byte(word)), line[len(word):]
			continue
		}
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		if word, err = strconv.Unquote(quoted); err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		args, line = append(args, []byte(word)), line[len(quoted):]
	}
	return args, nil
}
