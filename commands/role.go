package commands

import (
	"context"
	"strconv"
	"time"

	"limitsrv/commands/resp"
)

var role = Command{
	Name: "ROLE", Summary: "Returns the role: master with its replicas, or slave with its master.",
	Complexity: "O(1)", Since: "2.8.12", Group: "server", Flags: NoScript | Loading | Stale | Fast,
	Run: runRole,
}

func runRole(s *Session, _ [][]byte) {
	w, r := &s.w, s.h.config.Cluster.Replication()
	nodes := s.nodes()
	if s.h.role() == "slave" {
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

// maxWait bounds WAIT, so that a connection is not blocked for ever.
const maxWait = time.Minute

var wait = Command{
	Name: "WAIT", Args: "numreplicas timeout",
	Summary:    "Waits until numreplicas other nodes have every decision answered so far, or for timeout milliseconds, and returns their number. A timeout of 0 or more than a minute is a minute.",
	Complexity: "O(1)", Since: "3.0.0", Group: "generic", Flags: NoScript,
	Run: runWait,
}

// runWait does not wait in a transaction; it answers the current number.
func runWait(s *Session, args [][]byte) {
	replicas, err := strconv.ParseInt(string(args[1]), 10, 32)
	if err != nil {
		s.w.Error(errNotInt)
		return
	}
	millis, err := parseTimeout(args[2])
	if err != nil {
		s.w.Error(err)
		return
	}
	if replicas <= 0 || s.tx.running {
		s.h.config.Cluster.Wait(s.h.serving, 0, 0, func(n int) { s.w.Int(int64(n)) })
		return
	}
	timeout := time.Duration(millis) * time.Millisecond
	if timeout == 0 || timeout > maxWait {
		timeout = maxWait
	}
	var have int
	ctx, cancel := context.WithCancel(s.h.serving)
	s.deferReply(func(done func(error)) error {
		s.h.config.Cluster.Wait(ctx, int(replicas), timeout, func(n int) {
			have = n
			done(nil)
		})
		return nil
	}, func(w *resp.Writer) { w.Int(int64(have)) })
	s.later.cancel = cancel
}
