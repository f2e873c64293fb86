package state

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// A trackingFront is a front before three nodes, with a client that tracks keys.
type trackingFront struct {
	*scriptTarget
	t     *testing.T
	front int
	heard string // replies and messages of the client that tracks, since its last read
	named int    // messages with the expected key
}

// ask sends a line to the front, or to a node.
func (f *trackingFront) ask(name, line string) string {
	f.t.Helper()
	f.first, f.together = f.front, true
	if name == "node" {
		f.first = 0
	}
	return f.send(f.t, name, [][][]byte{words(line)})
}

// read sends a line of the client that tracks.
func (f *trackingFront) read(line string) {
	f.t.Helper()
	f.heard = f.ask("cache", line)
}

// awaitKey waits for the message about a key, or about all keys, which the client may get at any time.
func (f *trackingFront) awaitKey(event, key string) {
	f.t.Helper()
	testwait.Until(f.t, wait, event+" is told", func() bool {
		f.heard += f.send(f.t, "cache", nil)
		named := strings.Contains(f.heard, fmt.Sprintf(">2\r\n$10\r\ninvalidate\r\n*1\r\n$%d\r\n%s\r\n", len(key), key))
		if named {
			f.named++
		}
		return named || strings.Contains(f.heard, ">2\r\n$10\r\ninvalidate\r\n_\r\n")
	})
}

// TestTrackingAtFront: a front tells its clients of the keys that they have read when any client changes
// them, when they expire, and of all keys when the leader changes.
func TestTrackingAtFront(t *testing.T) {
	testwait.Long(t)
	clock := backend.NewTestClock(engine.Instant(1e18))
	cluster, nodes, _ := clusterTarget(t, clock)
	addFront(t, clock, cluster, nodes)
	f := &trackingFront{scriptTarget: cluster, t: t, front: len(nodes)}
	cluster.reset(session.Config{})
	testwait.Until(t, wait, "all features can be used", func() bool { return f.ask("front", "SET k v") == "+OK\r\n" })
	f.read("HELLO 3")
	f.read("CLIENT TRACKING ON")
	f.read("GET k")
	f.awaitKey("the beginning", "k")

	for _, event := range []struct{ by, line string }{
		{"front", "SET k w"}, {"node", "SET k v"}, {"node", "EVAL return(redis.call('SET','k','w')) 0"},
		{"front", "DEL k"}, {"front", "LPUSH k a"}, {"front", "RPOP k"}, {"node", "RL.TOKEN k 10 1/s"}, {"front", "FLUSHALL"},
	} {
		f.read("EXISTS k")
		f.ask(event.by, event.line)
		f.awaitKey(event.line, "k")
	}
	for _, read := range []string{"GET k", "MEMORY USAGE k", "MULTI;GET k;EXEC", "MULTI;MEMORY USAGE k;EXEC"} {
		f.ask("front", "SET k v")
		for line := range strings.SplitSeq(read, ";") {
			f.read(line)
		}
		f.ask("front", "SET k w")
		f.awaitKey("a change after "+read, "k")
	}

	// A client knows its own change when it has the reply.
	for i := range 20 {
		f.read("GET k")
		f.heard += f.ask("cache", fmt.Sprintf("SET k %d", i)) + f.send(t, "cache", nil)
		if !strings.Contains(f.heard, "invalidate") {
			t.Errorf("a read and a change are answered %q, without a message", f.heard)
		}
	}

	for _, read := range []string{"GET e", "RL.PEEK e", "EVAL return(redis.call('GET',KEYS[1])) 1 e", "MULTI;GET e;EXEC"} {
		f.ask("front", "SET e v PX 1000")
		for line := range strings.SplitSeq(read, ";") {
			f.read(line)
		}
		if err := clock.Advance(2 * time.Second); err != nil {
			t.Fatal(err)
		}
		f.awaitKey("the expiry after "+read, "e")
	}
	if f.named == 0 {
		t.Error("no message names a key")
	}
}
