package state

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
	"limitsrv/commands/backend"
	"limitsrv/commands/scripts"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/status"
	"limitsrv/internal/testing/freeport"
	"limitsrv/internal/testing/testwait"
	"limitsrv/persist"
	"limitsrv/replication"
)

// scriptFiles are the golden scripts of the commands. Package commands runs them on a
// single node.
const scriptFiles = "../../../commands/testdata/*.txt"

// faked are the scripts that need a fake, or a server: the clients of blocking.txt wait.
var faked = []string{"blocking.txt", "categories.txt", "cluster.txt", "members.txt", "once_users.txt",
	"replicated.txt", "save.txt", "users.txt"}

// onOneNode are the scripts with all connections to one node, because they test state
// of a node.
var onOneNode = map[string]string{
	"client.txt":   "CLIENT LIST, KILL and ids are of a node's connections",
	"monitor.txt":  "MONITOR shows what a node's connections send",
	"pause.txt":    "CLIENT PAUSE holds back a node's connections",
	"pubsub.txt":   "messages go to a node's connections",
	"rl.stats.txt": "a node counts the requests of its own connections",
	"scripts.txt":  "the scripts of a node share a budget",
}

// differing are the commands with other replies on a node of a cluster than on a single
// node.
var differing = map[string]string{
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

// localCommands are answered from the node's own state, which may be old on a follower.
var localCommands = []string{"CLUSTER", "DBSIZE", "EVAL", "INFO", "KEYS", "MEMORY", "OBJECT", "RANDOMKEY", "RL.POLICY",
	"RL.RULES", "RL.STATS", "RL.TOP", "SCAN", "TIME"}

const (
	// wait is the time limit of a wait on an idle machine.
	wait = 30 * time.Second
	// version is the version of the nodes.
	version = "0.0.0-test"
)

// A scriptTarget runs a script: a single node, or the nodes of a cluster with a common
// clock.
type scriptTarget struct {
	config   []session.Config // of each node
	handlers []*session.Handler
	actors   map[string]*scriptConn
	first    int  // the node of the first connection
	together bool // all connections are to the first node
}

// A scriptConn is a connection of a script.
type scriptConn struct {
	*session.Session
	commit func() // of its handler
	woken  chan struct{}
}

// reset starts over, with the Password and LimitsOnly of a configuration.
func (s *scriptTarget) reset(with session.Config) {
	s.actors, s.handlers = make(map[string]*scriptConn), nil
	for _, c := range s.config {
		c.Password, c.LimitsOnly = with.Password, with.LimitsOnly
		s.handlers = append(s.handlers, commands.NewHandler(c))
	}
}

// conn returns the connection with a name. Each new connection goes to the next node.
func (s *scriptTarget) conn(name string) *scriptConn {
	if a := s.actors[name]; a != nil {
		return a
	}
	i := s.first
	if !s.together {
		i += len(s.actors)
	}
	i %= len(s.handlers)
	a := &scriptConn{commit: s.handlers[i].Executor().Commit, woken: make(chan struct{}, 64)}
	a.Session = s.handlers[i].NewSession(session.Client{
		Addr: fmt.Sprintf("127.0.0.1:%d", 5000+len(s.actors)), LocalAddr: "127.0.0.1:6379",
		Since: time.Now(), Close: func() {}, Wake: func() { a.woken <- struct{}{} },
	})
	s.actors[name] = a
	return a
}

// send sends commands in a pipeline and returns the replies; without commands, the replies
// to earlier commands.
func (s *scriptTarget) send(t *testing.T, name string, all [][][]byte) string {
	t.Helper()
	a := s.conn(name)
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

// await waits for the replies of pending commands.
func (a *scriptConn) await(t *testing.T) {
	t.Helper()
	a.commit()
	select {
	case <-a.woken:
		a.Resume()
	case <-time.After(testwait.Scaled(3 * wait)):
		t.Fatalf("no reply within %v", 3*wait)
	}
}

// scriptSteps is a tenth of the default, so that endless scripts on a follower end before it
// stops to wait for the leader, on a busy machine too.
const scriptSteps = scripts.DefaultSteps / 10

// scriptConfig is the configuration common to all nodes.
func scriptConfig() session.Config {
	return session.Config{
		Version: version, Shutdown: func(backend.Parting) {}, ScriptSteps: scriptSteps,
		Options: func() []session.Option { return []session.Option{{Name: "listen", Value: "127.0.0.1:6379"}} },
	}
}

// singleTarget returns the target of a node with the given engine seed.
func singleTarget(clock *backend.TestClock, seed persist.Seed) *scriptTarget {
	c, e := scriptConfig(), engine.New(engine.Options{Seed: seed, Commands: Commands})
	c.Notices = new(engine.Notices)
	c.Exec, c.Clock, c.TestClock = &backend.Local{Engine: e, Clock: clock, Notices: c.Notices}, clock, clock
	c.Engine = func() *engine.Engine { return e }
	return &scriptTarget{config: []session.Config{c}}
}

// clusterTarget returns the target of three nodes, the nodes, and the seed of their
// engines.
func clusterTarget(t *testing.T, clock *backend.TestClock) (*scriptTarget, []*replication.Node, persist.Seed) {
	var (
		s     scriptTarget
		nodes []*replication.Node
		dir   = t.TempDir()
		peers []string
		start = clock.Now()
	)
	for range 3 {
		address, err := freeport.Address("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		peers = append(peers, address)
	}
	slices.Sort(peers)
	// The first node bootstraps the cluster, with the seed of its directory.
	founder, err := persist.OpenDir(vfs.Default, filepath.Join(dir, peers[0]))
	if err != nil {
		t.Fatal(err)
	}
	seed := founder.Seed
	if err := founder.Close(); err != nil {
		t.Fatal(err)
	}
	for _, address := range peers {
		notices := new(engine.Notices)
		n, err := replication.Open(replication.Options{
			Dir: filepath.Join(dir, address), Raft: address, Peers: peers, Client: address, Version: version,
			Commands: Commands, Notices: notices, Ack: replication.AckMemory, Fsync: persist.Never,
			ElectionTimeout: 2 * time.Second, Logger: slog.New(slog.DiscardHandler),
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
		r := clusterAdapter{n, "off"}
		c := scriptConfig()
		c.Exec, c.Engine, c.Clock, c.Store, c.Cluster, c.Notices = n, n.Engine, n, r, r, notices
		s.config, nodes = append(s.config, c), append(nodes, n)
	}
	return &s, nodes, seed
}

// A comparison runs a script on both targets and compares their replies.
type comparison struct {
	alone, cluster *scriptTarget
	nodes          []*replication.Node
	clock          *backend.TestClock
}

// Every command has the same effect on any of three nodes, and on a front before them, as on a single
// node.
func TestScriptsOnThreeNodes(t *testing.T) {
	testwait.Long(t)
	files, err := filepath.Glob(scriptFiles)
	if err != nil || len(files) < 30 {
		t.Fatalf("%d scripts: %v", len(files), err)
	}
	clock := backend.NewTestClock(engine.Instant(1e18))
	cluster, nodes, seed := clusterTarget(t, clock)
	addFront(t, clock, cluster, nodes)
	p := &comparison{alone: singleTarget(clock, seed), cluster: cluster, nodes: nodes, clock: clock}
	testwait.Until(t, wait, "they have a leader", func() bool {
		return slices.ContainsFunc(nodes, func(n *replication.Node) bool {
			r := n.Replication()
			return r.Role == status.Leader && r.HasQuorum
		})
	})
	p.reset(t, session.Config{})
	testwait.Until(t, wait, "they know that all are of this version", func() bool {
		return p.cluster.send(t, "a", [][][]byte{words("SET k v")}) == "+OK\r\n"
	})
	p.awaitMessages(t)
	for _, first := range []int{0, 1, len(nodes)} { // two of the nodes, and the front
		for _, file := range files {
			name := filepath.Base(file)
			if slices.Contains(faked, name) {
				continue
			}
			t.Run(fmt.Sprintf("%s from node %d", name, first), func(t *testing.T) {
				_, cluster.together = onOneNode[name]
				cluster.first = first
				p.reset(t, session.Config{})
				p.compare(t, "a", [][][]byte{words("CONFIG SET slowlog-log-slower-than -1")}) // its timing is random
				p.compare(t, "a", [][][]byte{words("FLUSHALL")})
				datadriven.RunTest(t, file, p.do)
			})
		}
	}
}

// awaitMessages waits until all nodes deliver the messages of scripts, as they do once they
// know that they have caught up.
func (p *comparison) awaitMessages(t *testing.T) {
	t.Helper()
	names := []string{"first", "second", "third", "front"}
	for _, name := range names {
		p.cluster.send(t, name, [][][]byte{words("SUBSCRIBE ready")})
	}
	for _, name := range names {
		testwait.Until(t, wait, "the node of the "+name+" connection delivers messages", func() bool {
			p.cluster.send(t, "sender",
				[][][]byte{{[]byte("EVAL"), []byte("return redis.call('PUBLISH', 'ready', 'yes')"), []byte("0")}})
			return p.cluster.send(t, name, nil) != ""
		})
	}
}

func words(line string) (args [][]byte) {
	for word := range strings.FieldsSeq(line) {
		args = append(args, []byte(word))
	}
	return args
}

func (p *comparison) reset(t *testing.T, with session.Config) {
	t.Helper()
	p.alone.reset(with)
	p.cluster.reset(with)
}

// do runs a step of a script, in the format of the scripts of package commands.
func (p *comparison) do(t *testing.T, d *datadriven.TestData) string {
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
		p.compareStates(t)
		if err := p.clock.Advance(by); err != nil {
			d.Fatalf(t, "%v", err)
		}
	case "server":
		var with session.Config
		if with.LimitsOnly = d.HasArg("limits-only"); !with.LimitsOnly {
			d.ScanArgs(t, "password", &with.Password)
		}
		p.reset(t, with)
	case "resp3":
		p.compare(t, name, [][][]byte{words("HELLO 3")})
	case "receive":
		p.compareStates(t) // then all messages of scripts are delivered
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

// compare sends commands to both targets.
func (p *comparison) compare(t *testing.T, name string, all [][][]byte) {
	t.Helper()
	first := ""
	if len(all) > 0 && len(all[0]) > 0 {
		first = strings.ToUpper(string(all[0][0]))
	}
	if slices.Contains(localCommands, first) {
		p.compareStates(t)
	}
	want := p.alone.send(t, name, all)
	got := p.cluster.send(t, name, all)
	if all == nil && p.cluster.isFront(name) { // messages take another link than answers
		testwait.Until(t, wait, "the front delivers messages", func() bool {
			got += p.cluster.send(t, name, nil)
			return len(got) >= len(want)
		})
	}
	if _, ok := differing[first]; ok && got != "" {
		return
	}
	if got != want {
		t.Errorf("%q: three nodes reply %q, one %q", all, got, want)
	}
}

// compareStates waits until all nodes have applied the same entries, and compares their
// states.
func (p *comparison) compareStates(t *testing.T) {
	t.Helper()
	digests := make(map[uint64]bool)
	testwait.Until(t, wait, "all nodes have come as far", func() bool {
		clear(digests)
		indexes := make(map[uint64]bool)
		for _, n := range p.nodes {
			index, digest := n.Digest()
			indexes[index], digests[digest] = true, true
		}
		return len(indexes) == 1
	})
	if len(digests) > 1 {
		t.Errorf("the nodes have %d different states", len(digests))
	}
}

// splitLine splits a line of a script into words, and unquotes words that begin with ".
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
