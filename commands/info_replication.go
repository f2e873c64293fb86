package commands

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"limitsrv/commands/session"
	"limitsrv/internal/status"
)

// noReplID is the value of Redis' second replication id if it is unset.
var noReplID = strings.Repeat("0", 40)

// onlineReplicas returns the nodes that Redis would call connected.
func onlineReplicas(nodes []status.Node) []status.Node {
	if len(nodes) > 0 && nodes[0].Front {
		return nil
	}
	return slices.DeleteFunc(replicasOf(nodes), func(n status.Node) bool { return !n.Online })
}

// infoReplication writes the cluster's status under Redis' names; offsets and the backlog
// are in entries of the log.
func infoReplication(h *session.Handler, l *lines) {
	var (
		r     = h.Replication()
		nodes = h.Config().Cluster.Nodes("")
		role  = roleOf(h)
		have  = onlineReplicas(nodes)
	)
	l.add("role", role)
	if role == "slave" {
		infoMaster(l, r, nodes)
		have = nil
	}
	l.add("connected_slaves", len(have))
	for i, n := range have {
		l.add("slave"+strconv.Itoa(i),
			fmt.Sprintf("ip=%s,port=%d,state=online,offset=%d,lag=%d", n.Host, n.Port, n.Index, inSeconds(n.LastContact)))
	}
	l.add("master_failover_state", "no-failover")
	id, kept := r.ClusterID, uint64(0)
	if id == "" {
		id = h.RunID()
	}
	if r.LastIndex > 0 {
		kept = r.LastIndex - r.FirstIndex + 1
	}
	l.add("master_replid", id)
	l.add("master_replid2", noReplID)
	l.add("master_repl_offset", r.LastIndex)
	l.add("second_repl_offset", -1)
	l.add("repl_backlog_active", oneIf(r.Role != ""))
	l.add("repl_backlog_size", kept)
	l.add("repl_backlog_first_byte_offset", r.FirstIndex)
	l.add("repl_backlog_histlen", kept)
}

// infoMaster writes the lines that only a replica has.
func infoMaster(l *lines, r status.Replication, nodes []status.Node) {
	leader, _ := leaderOf(nodes)
	l.add("master_host", leader.Host)
	l.add("master_port", leader.Port)
	if r.HasQuorum {
		l.add("master_link_status", "up")
		l.add("master_last_io_seconds_ago", inSeconds(r.LastContact))
	} else {
		l.add("master_link_status", "down")
		l.add("master_last_io_seconds_ago", -1)
	}
	l.add("master_sync_in_progress", 0)
	l.add("slave_read_repl_offset", r.LastIndex)
	l.add("slave_repl_offset", r.AppliedIndex)
	if !r.HasQuorum {
		l.add("master_link_down_since_seconds", inSeconds(r.LastContact))
	}
	l.add("slave_priority", 100)
	l.add("slave_read_only", 1)
	l.add("replica_announced", 1)
}

// inSeconds returns whole seconds; -1 for a negative duration, which means never.
func inSeconds(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return int64(d / time.Second)
}

// inMillis returns whole milliseconds; -1 for a negative duration, which means never.
func inMillis(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}

// infoRaft writes our own section: the state of the cluster, and the other nodes.
func infoRaft(h *session.Handler, l *lines) {
	r := h.Replication()
	l.add("raft_enabled", oneIf(r.Role != ""))
	if r.Role == "" {
		return
	}
	nodes := h.Config().Cluster.Nodes("")
	leader, known := leaderOf(nodes)
	at := ""
	if known {
		at = address(leader)
	}
	voters := 0
	for _, n := range nodes {
		voters += oneIf(n.Voter)
	}
	l.add("raft_role", r.Role)
	l.add("raft_cluster_id", r.ClusterID)
	l.add("raft_node_id", nodes[0].ID)
	l.add("raft_leader_id", leader.ID)
	l.add("raft_leader_address", at)
	l.add("raft_quorum", oneIf(r.HasQuorum))
	l.add("raft_nodes", len(membersOf(nodes)))
	l.add("raft_voters", voters)
	l.add("raft_term", r.Term)
	l.add("raft_first_index", r.FirstIndex)
	l.add("raft_last_index", r.LastIndex)
	l.add("raft_commit_index", r.CommitIndex)
	l.add("raft_applied_index", r.AppliedIndex)
	l.add("raft_last_contact_ms", inMillis(r.LastContact))
	l.add("raft_feature_level", r.FeatureLevel)
	l.add("raft_ack", r.Ack)
	l.add("raft_fsync", r.Fsync)
	l.add("raft_fsync_p99_usec", r.FsyncP99.Microseconds())
	l.add("raft_no_quorum", r.NoQuorum)
	l.add("raft_links", r.Links)
	l.add("raft_fronts", r.Fronts)
	infoRaftTotals(l, r)
	for i, n := range nodes[1:] {
		peer := fmt.Sprintf("id=%s,address=%s,raft=%s,voter=%d,online=%d,index=%d,lag=%d,last_contact_ms=%d,version=%s",
			n.ID, address(n), n.Raft, oneIf(n.Voter), oneIf(n.Online), n.Index, r.Behind(n), inMillis(n.LastContact), n.Version)
		if n.ClockKnown {
			peer += fmt.Sprintf(",clock_offset_ms=%d", n.ClockOffset.Milliseconds())
		}
		l.add("raft_peer"+strconv.Itoa(i), peer)
	}
}

func infoRaftTotals(l *lines, r status.Replication) {
	t, c, s := r.Totals, r.Clock, r.Snapshot
	l.add("raft_entries", t.Entries)
	l.add("raft_entry_bytes", t.EntryBytes)
	l.add("raft_decisions", t.Decisions)
	l.add("raft_forwarded", t.Forwarded)
	l.add("raft_uncertain", t.Uncertain)
	l.add("raft_no_quorum_answered", t.NoQuorum)
	l.add("raft_local_decisions", t.Local)
	l.add("raft_no_quorum_refused", t.Refused)
	l.add("raft_elections", t.Elections)
	l.add("raft_leader_changes", t.LeaderChanges)
	l.add("raft_restarts", t.Restarts)
	l.add("raft_refused_links", t.RefusedLinks)
	l.add("raft_messages_sent", t.MessagesSent)
	l.add("raft_messages_dropped", t.MessagesDropped)
	l.add("raft_clock_offset_ms", c.Offset.Milliseconds())
	l.add("raft_clock_clamps", c.Clamps)
	l.add("raft_clock_clamped_seconds", fmt.Sprintf("%.3f", c.Clamped.Seconds()))
	l.add("raft_snapshot_index", s.Index)
	l.add("raft_snapshot_age_seconds", secondsSince(s.At))
	l.add("raft_snapshot_bytes", s.Bytes)
	l.add("raft_snapshots_installed", s.Installed)
}

// address returns the node's address for clients.
func address(n status.Node) string { return net.JoinHostPort(n.Host, strconv.Itoa(n.Port)) }
