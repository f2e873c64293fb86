package admin

import (
	"strings"

	"limitsrv/internal/status"
)

// raftRoles are all roles of a node.
var raftRoles = []status.Role{status.Leader, status.Follower, status.Candidate, status.NonVoter}

var raftFamilies = []family{
	{"raft_role", "1 for this node's role in the cluster, 0 for the other roles.", gauge, []string{"role"}, isClustered,
		func(v *view, value func(float64, ...string)) {
			for _, role := range raftRoles {
				is := 0.0
				if v.replication.Role == role {
					is = 1
				}
				value(is, string(role))
			}
		}},
	{"raft_has_quorum", "1 if decisions can be made, else 0.", gauge, nil, isClustered,
		boolean(func(v *view) bool { return v.replication.HasQuorum })},
	{"raft_term", "Current term of the cluster.", gauge, nil, isClustered,
		integer(func(v *view) uint64 { return v.replication.Term })},
	{"raft_first_index", "First entry of the log.", gauge, nil, isClustered,
		integer(func(v *view) uint64 { return v.replication.FirstIndex })},
	{"raft_last_index", "Last entry of the log.", gauge, nil, isClustered,
		integer(func(v *view) uint64 { return v.replication.LastIndex })},
	{"raft_commit_index", "Last entry that is committed.", gauge, nil, isClustered,
		integer(func(v *view) uint64 { return v.replication.CommitIndex })},
	{"raft_applied_index", "Last entry that is applied to the state.", gauge, nil, isClustered,
		integer(func(v *view) uint64 { return v.replication.AppliedIndex })},
	{"raft_last_contact_seconds", "Time since the last contact with the leader, 0 on the leader; no value before the " +
		"first contact.", gauge, nil, isClustered, func(v *view, value func(float64, ...string)) {
		if v.replication.LastContact >= 0 {
			value(v.replication.LastContact.Seconds())
		}
	}},
	{"raft_member_online", "1 for members with recent contact, else 0. Only the leader has contact with all.", gauge,
		[]string{"member"}, isClustered, func(v *view, value func(float64, ...string)) {
			for _, n := range v.nodes {
				is := 0.0
				if n.Online {
					is = 1
				}
				value(is, n.Raft)
			}
		}},
	{"raft_member_lag_entries", "Entries that a member has not received, including entries since the last contact, " +
		"which may be a second ago; no value if unknown.", gauge, []string{"member"}, isClustered,
		func(v *view, value func(float64, ...string)) {
			for _, n := range v.nodes {
				if behind := v.replication.Behind(n); behind >= 0 {
					value(float64(behind), n.Raft)
				}
			}
		}},
	{"raft_entries_total", "Entries of the log that this node applied.", counter, nil, isClustered,
		integer(func(v *view) int64 { return v.replication.Totals.Entries })},
	{"raft_entry_bytes_total", "Bytes of the entries that this node applied.", counter, nil, isClustered,
		integer(func(v *view) int64 { return v.replication.Totals.EntryBytes })},
	{"raft_forwarded_total", "Batches forwarded to the leader.", counter, nil, isClustered,
		integer(func(v *view) int64 { return v.replication.Totals.Forwarded })},
	{"raft_uncertain_total", "Requests answered with UNCERTAIN: they may or may not have been applied.", counter, nil,
		isClustered, integer(func(v *view) int64 { return v.replication.Totals.Uncertain })},
	{"raft_no_quorum_refused_total", "Batches rejected because there was no majority.", counter, nil, isClustered,
		integer(func(v *view) int64 { return v.replication.Totals.Refused })},
	{"raft_no_quorum_answered_total", "Decisions answered by the rule of --no-quorum because there was no majority.",
		counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.NoQuorum })},
	{"raft_local_decisions_total", "Decisions by the rule of --no-quorum that used this node's own state.", counter, nil,
		isClustered, integer(func(v *view) int64 { return v.replication.Totals.Local })},
	{"raft_elections_total", "Elections that this node won.", counter, nil, isClustered,
		integer(func(v *view) int64 { return v.replication.Totals.Elections })},
	{"raft_leader_changes_total", "Changes of the leader seen by this node.", counter, nil, isClustered,
		integer(func(v *view) int64 { return v.replication.Totals.LeaderChanges })},
	{"raft_restarts_total", "Restarts of this node's raft instance within its process.", counter, nil, isClustered,
		integer(func(v *view) int64 { return v.replication.Totals.Restarts })},
	{"raft_refused_links_total", "Links from nodes or unauthenticated clients that were rejected, or closed because of " +
		"altered bytes; the log has the addresses.", counter, nil, isClustered,
		integer(func(v *view) int64 { return v.replication.Totals.RefusedLinks })},
	{"raft_messages_sent_total", "Messages of PUBLISH sent to other nodes, counted once for each node.", counter, nil,
		isClustered, integer(func(v *view) int64 { return v.replication.Totals.MessagesSent })},
	{"raft_messages_dropped_total", "Messages of PUBLISH that were dropped on their way to another node, because it was " +
		"away or too slow.", counter, nil, isClustered,
		integer(func(v *view) int64 { return v.replication.Totals.MessagesDropped })},
	{"raft_fronts", "Fronts that this node, as the leader, sends news to.", gauge, nil, isClustered,
		integer(func(v *view) int64 { return v.replication.Fronts })},
	{"raft_links_open", "1 while links are accepted without a secret or a certificate, else 0.", gauge, nil, isClustered,
		boolean(func(v *view) bool { return strings.HasSuffix(v.replication.Links, "open") })},
	{"raft_snapshots_installed_total", "Snapshots installed from the leader.", counter, nil, isClustered,
		integer(func(v *view) int64 { return v.replication.Snapshot.Installed })},
	{"raft_snapshot_index", "Last entry in the newest snapshot.", gauge, nil, isClustered,
		integer(func(v *view) uint64 { return v.replication.Snapshot.Index })},
	{"raft_sync_p99_seconds", "99th percentile of the duration of a log sync; 0 if unknown.", gauge, nil, isClustered,
		float(func(v *view) float64 { return v.replication.FsyncP99.Seconds() })},
	{"raft_member_clock_offset_seconds", "A member's clock minus the median of the clocks of the members, of each " +
		"member that answers, while this node leads.", gauge, []string{"member"}, isClustered,
		func(v *view, value func(float64, ...string)) {
			for _, n := range v.nodes {
				if n.ClockKnown {
					value(n.ClockOffset.Seconds(), n.Raft)
				}
			}
		}},
	{"raft_clock_clamps_total", "Checks, once a second, that found cluster time different from the nodes' clocks by " +
		"more than a second.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Clock.Clamps })},
	{"raft_clock_clamped_seconds", "The nodes' clocks minus cluster time, if more than a second; else 0.", gauge, nil,
		isClustered, float(func(v *view) float64 { return v.replication.Clock.Clamped.Seconds() })},
}
