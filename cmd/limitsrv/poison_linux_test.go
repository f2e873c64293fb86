package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"limitsrv/cmd/limitsrv/state"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/internal/respclient"
	"limitsrv/internal/testing/testwait"
)

// poison in the environment of a server is a way to end the process, of poisonWays: each call with the
// argument poisonArg then ends it so.
const (
	poison    = "TEST_BINARY_POISON"
	poisonArg = "poison"
)

var poisonWays = map[string]func(){
	"kill": func() {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	},
	"panic": func() { panic("a poisonous call") },
}

// A poisonous is a family of calls that end the process.
type poisonous struct {
	spec.Family
	end func()
}

func (p poisonous) Do(tx *engine.Tx, c *engine.Call) {
	for _, arg := range c.Args {
		if string(arg) == poisonArg {
			p.end()
		}
	}
	p.Family.Do(tx, c)
}

// poisonCalls makes calls poisonous in this process.
func poisonCalls(how string) {
	all := *state.Commands
	for i, f := range all {
		if f != nil {
			all[i] = poisonous{f, poisonWays[how]}
		}
	}
	state.Commands = &all
}

// poisonScript runs a poisonous script.
const poisonScript = `EVAL "return redis.call('SET',KEYS[1],1)" 1 poison`

// ends starts a server that must end by itself, and returns its exit code and its log.
func ends(t *testing.T, how string, args ...string) (code int, log string) {
	t.Helper()
	r := launchWith(t, []string{poison + "=" + how}, freeAddress(t), args...)
	code = r.exit(t)
	return code, r.logged()
}

// dies sends a command that ends the server.
func (r *running) dies(t *testing.T, command string) {
	t.Helper()
	w := wired(t, r.address)
	w.loaded(t)
	if reply, err := w.whenLed(command); err == nil {
		t.Fatalf("%s answers %v", command, reply)
	}
	r.exit(t)
}

var skipCommand = regexp.MustCompile(`limitsrv (recover \S+ --skip-entry \d+)`)

// skipLine returns the arguments of the command line that a server names in its log.
func skipLine(t *testing.T, log string) []string {
	t.Helper()
	found := skipCommand.FindStringSubmatch(log)
	if found == nil {
		t.Fatalf("no command line in\n%s", log)
	}
	return strings.Fields(found[1])
}

func lacks(t *testing.T, log string, unwanted ...string) {
	t.Helper()
	for _, text := range unwanted {
		if strings.Contains(log, text) {
			t.Errorf("%q in\n%s", text, log)
		}
	}
}

func has(t *testing.T, log string, want ...string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(log, text) {
			t.Errorf("no %q in\n%s", text, log)
		}
	}
}

const (
	againText = "the last process ended while it applied this entry"
	skipText  = "entry of the log skipped"
)

// A call ends the process whenever it is applied. The next start names it, the fourth refuses to
// apply it, and says how to go on without it.
func TestPoisonousEntry(t *testing.T) {
	testwait.Long(t)
	for how := range poisonWays {
		for _, fsync := range []string{"always", "everysec"} {
			t.Run(how+" "+fsync, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "data")
				args := []string{"--data", dir, "--fsync", fsync}
				deaths := poisonOne(t, how, fsync == "always", args)
				for ; deaths < 3; deaths++ {
					code, log := ends(t, how, args...)
					if code == exitPoison {
						t.Fatalf("it refuses after %d deaths\n%s", deaths, log)
					}
					if deaths > 0 {
						has(t, log, againText, "EVAL with 1 keys", "return redis.call(", fmt.Sprint("processes_ended=", deaths))
					}
				}
				var line []string
				for range 2 { // it stays so
					code, log := ends(t, how, args...)
					if code != exitPoison {
						t.Fatalf("exit %d, want %d\n%s", code, exitPoison, log)
					}
					has(t, log, "ended the last 3 processes", "EVAL with 1 keys")
					line = skipLine(t, log)
				}
				runsTool(t, "n\n", exitOK, line, "EVAL with 1 keys", "3 processes", "Nothing was changed")
				runsTool(t, "", exitOK, append(line, "--yes"), "Done")
				runsTool(t, "", exitOK, append(line, "--yes"), "skipped already")
				runsTool(t, "", exitOK, []string{"check", dir}, "is skipped")
				checkSkipped(t, how, dir, args)
			})
		}
	}
}

// poisonOne makes a log with a poisonous entry between two harmless entries, and returns the
// number of processes that it has ended.
func poisonOne(t *testing.T, how string, logged bool, args []string) (deaths int) {
	t.Helper()
	if logged {
		r := launchWith(t, []string{poison + "=" + how}, freeAddress(t), args...)
		until(t, "it listens", func() bool { return strings.Contains(r.logged(), "listening") })
		w := wired(t, r.address)
		w.loaded(t)
		w.do(t, "SET before 1")
		r.dies(t, poisonScript)
		return 1
	}
	r := serve(t, args...) // where the call is harmless
	w := wired(t, r.address)
	w.loaded(t)
	for _, command := range []string{"SET before 1", poisonScript, "SET after 1"} {
		w.do(t, command)
	}
	r.Process.Kill()
	<-r.ended
	return 0
}

// checkSkipped checks a directory after its poisonous entry was skipped.
func checkSkipped(t *testing.T, how, dir string, args []string) {
	t.Helper()
	kept, err := filepath.Glob(filepath.Join(dir, "skipped-entry-*"))
	if err != nil || len(kept) != 1 {
		t.Errorf("files %v keep the entry, %v", kept, err)
	}
	for round, want := range []bool{true, true, false} {
		r := launchWith(t, []string{poison + "=" + how}, freeAddress(t), args...)
		until(t, "it listens", func() bool { return strings.Contains(r.logged(), "listening") })
		w := wired(t, r.address)
		w.loaded(t)
		if strings.Count(r.logged(), skipText) != map[bool]int{true: 1, false: 0}[want] ||
			strings.Contains(r.logged(), againText) {
			t.Errorf("start %d: wants a warning: %v\n%s", round, want, r.logged())
		}
		if got := fmt.Sprint(w.do(t, "GET before"), w.do(t, "KEYS poi*")); got != "1[]" {
			t.Errorf("start %d: the value and the poisonous key are %s", round, got)
		}
		w.do(t, fmt.Sprint("SET later", round, " 1"))
		if round == 1 {
			w.do(t, "SAVE")
		}
		r.Process.Kill()
		<-r.ended
	}
}

// Under everysec a call is applied before it is logged. If it ends the process it is gone.
func TestPoisonousCallBeforeTheLog(t *testing.T) {
	testwait.Long(t)
	args := []string{"--data", t.TempDir(), "--fsync", "everysec"}
	r := launchWith(t, []string{poison + "=kill"}, freeAddress(t), args...)
	until(t, "it listens", func() bool { return strings.Contains(r.logged(), "listening") })
	w := wired(t, r.address)
	w.loaded(t)
	w.do(t, "SET before 1")
	r.dies(t, poisonScript)
	r = launchWith(t, []string{poison + "=kill"}, freeAddress(t), args...)
	until(t, "it listens", func() bool { return strings.Contains(r.logged(), "listening") })
	w = wired(t, r.address)
	w.loaded(t)
	if got := fmt.Sprint(w.do(t, "GET before"), w.do(t, "KEYS poi*")); got != "1[]" {
		t.Errorf("the value and the poisonous key are %s", got)
	}
	lacks(t, r.logged(), "the last process ended", skipText)
}

// A poisonTrio is a cluster of three nodes. The nodes with a way to end are poisonous.
type poisonTrio struct {
	dirs, raft []string
	how        []string
	nodes      []*running
}

func newPoisonTrio(t *testing.T, how ...string) *poisonTrio {
	testwait.Long(t)
	t.Helper()
	c := &poisonTrio{how: how, nodes: make([]*running, len(how))}
	for range how {
		c.dirs, c.raft = append(c.dirs, filepath.Join(t.TempDir(), "data")), append(c.raft, freeAddress(t))
	}
	for i := range how {
		c.start(t, i)
	}
	return c
}

// start starts a node.
func (c *poisonTrio) start(t *testing.T, i int) {
	t.Helper()
	var settings []string
	if c.how[i] != "" {
		settings = append(settings, poison+"="+c.how[i])
	}
	c.nodes[i] = launchWith(t, settings, freeAddress(t), "--data", c.dirs[i], "--raft", c.raft[i], "--peers",
		strings.Join(c.raft, ","),
		"--election-timeout", testwait.Scaled(electionTimeout).String())
	until(t, "it listens", func() bool {
		return strings.Contains(c.nodes[i].logged(), "listening") ||
			c.nodes[i].isOver()
	})
}

// poisoned writes a value and then an entry that ends the poisonous nodes, until so many of them
// refuse to start. It returns the arguments of the command line that skips the entry in the first
// directory.
func (c *poisonTrio) poisoned(t *testing.T, refusing int) []string {
	t.Helper()
	c.takes(t, "SET before 1")
	until(t, "the log has the entry", func() bool {
		reply, err := wired(t, c.nodes[0].address).whenLed(poisonScript)
		refused, is := reply.(respclient.Error)
		return err != nil || !is || isError(refused, "UNCERTAIN") // otherwise it was not proposed
	})
	refused := make(map[int]string)
	until(t, "nodes refuse to start", func() bool {
		for i, r := range c.nodes {
			switch {
			case !r.isOver() || refused[i] != "":
			case r.ProcessState.ExitCode() == exitPoison:
				refused[i] = r.logged()
			default:
				c.start(t, i)
			}
		}
		return len(refused) >= refusing
	})
	for _, log := range refused {
		has(t, log, "EVAL with 1 keys", "ended the last 3 processes")
		return append([]string{"recover", c.dirs[0]}, skipLine(t, log)[2:]...)
	}
	return nil
}

// takes sends a command to the first node until it answers OK.
func (c *poisonTrio) takes(t *testing.T, command string) {
	t.Helper()
	until(t, command+" is answered", func() bool {
		reply, err := wired(t, c.nodes[0].address).whenLed(command)
		return err == nil && fmt.Sprint(reply) == "OK"
	})
}

// stop ends all nodes.
func (c *poisonTrio) stop() {
	for _, r := range c.nodes {
		r.Process.Kill()
		<-r.ended
	}
}

// agree waits until the nodes have the same digest at the same entry, and returns it.
func (c *poisonTrio) agree(t *testing.T) (digest string) {
	t.Helper()
	until(t, "all nodes have the same digest", func() bool {
		all := make(map[string]bool)
		for _, r := range c.nodes {
			w, err := wireWithin(r.address, takeWait)
			if err != nil {
				return false
			}
			replies, err := w.all("CLUSTER DIGEST", "CLUSTER INFO")
			w.Close()
			if err != nil || !strings.Contains(fmt.Sprint(replies[1]), "cluster_state:ok") {
				return false
			}
			digest = fmt.Sprint(replies[0])
			all[digest] = true
		}
		return len(all) == 1
	})
	return digest
}

// All nodes of a cluster die of an entry. It is skipped on each; then they agree, after restarts, and
// so does a node that joins.
func TestPoisonousEntryInACluster(t *testing.T) {
	for how := range poisonWays {
		t.Run(how, func(t *testing.T) {
			c := newPoisonTrio(t, how, how, how)
			line := c.poisoned(t, 2)
			c.stop()
			for _, dir := range c.dirs {
				line[1] = dir
				runsTool(t, "", exitOK, append(line, "--yes"), "EVAL with 1 keys", "Done")
				runsTool(t, "", exitOK, append(line, "--yes"), "skipped already")
				runsTool(t, "", exitOK, []string{"check", dir}, "is skipped", "log: good")
			}
			for range 2 {
				for i := range c.nodes {
					c.start(t, i)
				}
				c.takes(t, "SET later 1")
				c.agree(t)
				for _, r := range c.nodes {
					if strings.Count(r.logged(), skipText) != 1 || strings.Contains(r.logged(), againText) {
						t.Errorf("not one warning in\n%s", r.logged())
					}
				}
				if got := fmt.Sprint(wired(t, c.nodes[1].address).do(t, "KEYS *")); strings.Contains(got, poisonArg) ||
					!strings.Contains(got, "before") {
					t.Errorf("the keys are %s", got)
				}
				c.stop()
			}
			for i := range c.nodes {
				c.start(t, i)
			}
			joins := launchWith(t, []string{poison + "=" + how}, freeAddress(t), "--data", t.TempDir(), "--raft", freeAddress(t),
				"--join", c.raft[0])
			c.nodes = append(c.nodes, joins)
			c.agree(t)
		})
	}
}

// One of three nodes has applied an entry that kills the other nodes, which then skip it. Then
// the nodes that differ from the leader take its state.
func TestSkippedOnSomeNodes(t *testing.T) {
	c := newPoisonTrio(t, "kill", "kill", "")
	line := c.poisoned(t, 2)
	until(t, "the other node applies it", func() bool {
		w := wired(t, c.nodes[2].address)
		w.do(t, "READONLY") // no leader tells it that it is up to date
		return strings.Contains(fmt.Sprint(w.do(t, "KEYS *")), poisonArg)
	})
	for i, dir := range c.dirs[:2] {
		line[1] = dir
		runsTool(t, "", exitOK, append(line, "--yes"), "Done")
		c.start(t, i)
	}
	until(t, "a node finds that its state differs", func() bool {
		for _, r := range c.nodes {
			if r.isOver() {
				t.Fatalf("a node has ended\n%s", r.logged())
			}
			if strings.Contains(r.logged(), "joins the cluster again") {
				return true
			}
		}
		return false
	})
	c.agree(t)
}
