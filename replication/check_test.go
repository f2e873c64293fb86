package replication

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
	"limitsrv/replication/offline"
)

// checkOutput returns the output of Check for a directory, and whether it is damaged.
func checkOutput(t *testing.T, dir string) (output string, damaged bool) {
	t.Helper()
	var lines []string
	err := offline.Check(dir, nil, func(line string) { lines = append(lines, line) })
	if err != nil && !errors.Is(err, persist.ErrDamaged) {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n"), err != nil
}

// filesOf returns the files below a directory that match a pattern.
func filesOf(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s in %s: %v", pattern, dir, err)
	}
	return found
}

// stoppedNode returns a stopped cluster of a single node with a snapshot and a log after
// it.
func stoppedNode(t *testing.T) (c *testCluster, ended *Node) {
	c = startCluster(t, 1, nil)
	n := c.leader()
	c.takeAll(n, "")
	c.save(n)
	c.takeAll(n, " again")
	c.close(n)
	return c, n
}

func TestCheck(t *testing.T) {
	t.Parallel()
	_, n := stoppedNode(t)
	dir := n.o.Dir
	for range 2 { // Check changes nothing
		output, damaged := checkOutput(t, dir)
		for _, want := range []string{"MEMBER: good, node " + n.identity().Node, "votes.db: good, term ", ": good, 6 keys, ",
			"log: good, each entry up to"} {
			if damaged || !strings.Contains(output, want) {
				t.Fatalf("no %q in:\n%s", want, output)
			}
		}
	}
	if err := persist.Check(nil, dir, nil, func(string) {}); err == nil || errors.Is(err, persist.ErrDamaged) ||
		!strings.Contains(err.Error(), "node of a cluster") {
		t.Errorf("persist.Check says %v", err)
	}

	was := n.member()
	was.Clean = false // so that the length of the log is unknown
	if err := was.Write(&persist.Dir{Path: dir, FS: n.o.fs}); err != nil {
		t.Fatal(err)
	}
	flip := func(at int) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[at] ^= 1
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(t *testing.T, path string) {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		pattern string
		damage  func(t *testing.T, path string)
		want    string
	}{
		"the membership":    {"MEMBER", flip(40), "MEMBER: "},
		"a snapshot":        {"raft/*/snapshots/*/state.bin", flip(60), "snapshot "},
		"snapshot metadata": {"raft/*/snapshots/*/meta.json", flip(0), "its metadata can't be read"},
		"an entry":          {"raft/*/log/*.wal", flip(200), "log: "},
		"no votes":          {"raft/*/votes.db", remove, "votes.db: "},
		"garbled votes": {"raft/*/votes.db", func(t *testing.T, path string) {
			if err := os.WriteFile(path, make([]byte, 32<<10), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "votes.db: "},
	} {
		t.Run(name, func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			for _, path := range filesOf(t, copied, tt.pattern) {
				tt.damage(t, path)
			}
			if output, damaged := checkOutput(t, copied); !damaged || !strings.Contains(output, tt.want) {
				t.Errorf("damaged %v:\n%s", damaged, output)
			}
		})
	}
}

// A log with a missing begin continues from no snapshot.
func TestCheckFindsGap(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, func(o *Options) { o.leastTrailing, o.SnapshotLogBytes = 1, 1<<14 })
	n := c.leader()
	for i := range 60 {
		c.takeAll(n, strings.Repeat("x", 10+i))
	}
	c.save(n)
	c.close(n)
	for _, path := range filesOf(t, n.o.Dir, "raft/*/snapshots/*") {
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
	}
	if output, damaged := checkOutput(t, n.o.Dir); !damaged ||
		!strings.Contains(output, "no good snapshot goes beyond entry 0") {
		t.Errorf("damaged %v:\n%s", damaged, output)
	}
}

func TestCheckBeforeBootstrap(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, func(o *Options) { o.Peers = append(o.Peers, "127.0.0.1:1") })
	n := c.nodes[0]
	if err := offline.Check(n.o.Dir, nil, func(string) {}); err == nil {
		t.Error("a directory in use is checked")
	}
	c.close(n)
	if output, damaged := checkOutput(t, n.o.Dir); damaged || !strings.Contains(output, "of no cluster yet") {
		t.Errorf("damaged %v:\n%s", damaged, output)
	}
}

// All entries in the log when the node was stopped must exist when it starts.
func TestCheckFindsLostEnd(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, nil)
	n := c.leader()
	c.takeAll(n, "")
	c.close(n)
	path := filesOf(t, n.o.Dir, "raft/*/log/*.wal")[0]
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := len(bytes.TrimRight(data, "\x00"))
	clear(data[end-20 : end]) // as if it never reached the disk
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if output, damaged := checkOutput(t, n.o.Dir); !damaged || !strings.Contains(output, "when the node was stopped") {
		t.Errorf("damaged %v:\n%s", damaged, output)
	}
	refused(t, n.o, "was on disk")
}

// Check finds an entry that is complete but can not be applied by this program.
func TestCheckReadsEachEntry(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, nil)
	n := c.leader()
	c.takeAll(n, "")
	c.close(n)
	log, err := persist.OpenLog(n.o.fs, filepath.Dir(filesOf(t, n.o.Dir, "raft/*/log/*.wal")[0]), persist.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	last, err := log.Raft().LastIndex()
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Raft().StoreLog(&raft.Log{Index: last + 1, Term: 9, Data: []byte{0x7f}}); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if output, damaged := checkOutput(t, n.o.Dir); !damaged ||
		!strings.Contains(output, fmt.Sprintf("entry %d: ", last+1)) {
		t.Errorf("damaged %v:\n%s", damaged, output)
	}
	if _, err := offline.Inspect(offlineOptions(n.o)); err == nil || !strings.Contains(err.Error(), "can't be applied") {
		t.Errorf("a node with such an entry is inspected: %v", err)
	}
}
