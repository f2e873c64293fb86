package commands

import (
	"context"
	"strconv"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/internal/status"
)

var role = spec.Command{
	Name: "ROLE", Summary: "Returns the role: master with its replicas, or slave with its master.",
	Complexity: "O(1)", Since: "2.8.12", Group: "server", Flags: spec.NoScript | spec.Loading | spec.Stale | spec.Fast,
	Body: session.Run(runRole),
}

func runRole(s *session.Session, w *resp.Writer, _ [][]byte) {
	r := s.Handler().Replication()
	nodes := nodesOf(s)
	if roleOf(s.Handler()) == "slave" {
		leader, _ := leaderOf(nodes)
		state := "connect"
		if r.HasQuorum {
			state = "connected"
		}
		w.Array(5)
		w.BulkString("slave")
		w.BulkString(leader.Host)
		w.Int(int64(leader.Port))
		w.BulkString(state)
		w.Int(int64(r.AppliedIndex))
		return
	}
	replicas := onlineReplicas(nodes)
	w.Array(3)
	w.BulkString("master")
	w.Int(int64(r.LastIndex))
	w.Array(len(replicas))
	for _, n := range replicas {
		w.BulkStrings([]string{n.Host, strconv.Itoa(n.Port), strconv.FormatUint(n.Index, 10)})
	}
}

// modeOf returns the server's mode in HELLO and INFO.
func modeOf(h *session.Handler) string {
	if h.Config().Cluster.Enabled() {
		return "cluster"
	}
	return "standalone"
}

// roleOf returns Redis' word for the node's role: a node without a known leader is a
// replica.
func roleOf(h *session.Handler) string {
	if r := h.Replication(); r.Role != "" && r.Role != status.Leader && r.Role != status.Front {
		return "slave"
	}
	return "master"
}

// maxWait bounds WAIT, so that a connection is not blocked for ever.
const maxWait = time.Minute

var wait = spec.Command{
	Name: "WAIT", Args: "numreplicas timeout",
	Summary: "Waits until numreplicas other nodes have every decision answered so far, or for timeout milliseconds, " +
		"and returns their number. A timeout of 0 or more than a minute is a minute.",
	Complexity: "O(1)", Since: "3.0.0", Group: "generic", Flags: spec.NoScript, Front: spec.FrontAsks,
	Body: session.Run(runWait),
}

// runWait does not wait in a transaction; it answers the current number.
func runWait(s *session.Session, w *resp.Writer, args [][]byte) {
	replicas, err := strconv.ParseInt(string(args[1]), 10, 32)
	if err != nil {
		w.Error(errNotInt)
		return
	}
	millis, err := parseTimeout(args[2])
	if err != nil {
		w.Error(err)
		return
	}
	if replicas <= 0 || s.InExec() {
		s.Handler().Config().Cluster.Wait(s.Handler().Serving(), 0, 0, func(n int) { w.Int(int64(n)) })
		return
	}
	timeout := time.Duration(millis) * time.Millisecond
	if timeout == 0 || timeout > maxWait {
		timeout = maxWait
	}
	var have int
	ctx, cancel := context.WithCancel(s.Handler().Serving())
	s.Defer(func(done func(error)) (func(), error) {
		s.Handler().Config().Cluster.Wait(ctx, int(replicas), timeout, func(n int) {
			have = n
			done(nil)
		})
		return cancel, nil
	}, func(w *resp.Writer) { w.Int(int64(have)) })
}
