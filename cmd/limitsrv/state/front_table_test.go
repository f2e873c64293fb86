package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/commands/spec/spectest"
	"limitsrv/engine"
	"limitsrv/internal/status"
	"limitsrv/internal/testing/testwait"
	"limitsrv/replication"
)

const (
	keepsNoState = "-ERR a front keeps no state: send it to a node\r\n"
	noCluster    = "-ERR This instance has cluster support disabled\r\n" // without --cluster-mode on
)

// atFront has a front's reply to the shortest line of a command, if it differs from a follower's reply.
// Empty: the reply is about the node itself.
var atFront = map[string]string{
	"save": keepsNoState, "bgsave": keepsNoState, "rl.backup": keepsNoState, "cluster|leave": keepsNoState,
	"role": "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n",

	"hello": "", "info": "", "cluster|myid": "", "cluster|nodes": "", "cluster|links": "", "cluster|digest": "",
	"cluster|slots": noCluster, "cluster|shards": noCluster,
	"latency|histogram": "", "memory|stats": "", "memory|doctor": "", "lastsave": "", "time": "",
}

// unasked are the commands that the test does not send.
var unasked = map[string]string{
	"shutdown": "it stops the process", "cluster|failover": "it changes the leader",
	"blpop": "it waits", "brpop": "it waits", "monitor": "it shows the lines of other connections",
}

// TestCommandsAtFront sends each command of the table to a follower and to a front.
func TestCommandsAtFront(t *testing.T) {
	testwait.Long(t)
	clock := backend.NewTestClock(engine.Instant(1e18))
	cluster, nodes, _ := clusterTarget(t, clock)
	addFront(t, clock, cluster, nodes)
	front := len(nodes)
	seen := make(map[string]bool)
	cluster.reset(session.Config{})
	testwait.Until(t, wait, "all features can be used", func() bool {
		return sendTo(t, cluster, followerOf(nodes), "SET", "k", "v") == "+OK\r\n"
	})
	for _, c := range cluster.handlers[front].Registry().Specs() {
		if c.Subs != nil {
			continue
		}
		seen[c.FullName] = true
		if unasked[c.FullName] != "" {
			continue
		}
		wrong := ""
		for range attempts { // the leader may change on a busy machine
			if wrong = wrongAtFront(t, cluster, c, followerOf(nodes), front); wrong == "" {
				break
			}
		}
		if wrong != "" {
			t.Error(wrong)
		}
	}
	for name := range atFront {
		if !seen[name] {
			t.Errorf("%s is in atFront, and in no table", name)
		}
	}
}

// attempts is the number of times that a command may be answered differently, less one.
const attempts = 4

// followerOf returns the number of a follower, or of a node that knows no leader.
func followerOf(nodes []*replication.Node) int {
	return slices.IndexFunc(nodes, func(n *replication.Node) bool { return n.Replication().Role != status.Leader })
}

// wrongAtFront sends the shortest line of a command to a follower and to a front, and describes the
// front's reply if it is wrong.
func wrongAtFront(t *testing.T, cluster *scriptTarget, c *session.Spec, follower, front int) string {
	t.Helper()
	line := append(strings.Split(c.FullName, "|"), spectest.Words(c.Command, "k")...)
	cluster.reset(session.Config{})
	var replies [2]string
	want, differs := atFront[c.FullName]
	for i, node := range []int{follower, front} {
		if want != "" && node == follower {
			continue
		}
		sendTo(t, cluster, node, "FLUSHALL")
		sendTo(t, cluster, node, "SCRIPT", "FLUSH")
		sendTo(t, cluster, node, "FUNCTION", "FLUSH")
		replies[i] = sendTo(t, cluster, node, line...)
	}
	switch {
	case !differs:
		want = replies[0]
	case want == "" && !strings.HasPrefix(replies[1], "-"):
		want = replies[1]
	}
	if replies[1] != want || replies[1] == "" {
		return fmt.Sprintf("%q: the front replies %q, want %q; a follower replies %q", line, replies[1], want, replies[0])
	}
	return ""
}

// sendTo sends a command over a new connection to a node.
func sendTo(t *testing.T, s *scriptTarget, node int, line ...string) string {
	t.Helper()
	s.first, s.together = node, true
	clear(s.actors)
	var args [][]byte
	for _, word := range line {
		args = append(args, []byte(word))
	}
	return s.send(t, "a", [][][]byte{args})
}
