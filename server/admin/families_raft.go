package admin

import (
	"strings"

	"limitsrv/commands"
)

// raftRoles are all that a node may have.
var raftRoles = []commands.Role{commands.RoleLeader, commands.RoleFollower, commands.RoleCandidate, commands.RoleNonVoter}

var raftFamilies = []family{
	{"raft_role", "1 for the role that this node has in its cluster, 0 for others.", gauge, []string{"role"}, isClustered, func(v *view, value func(float64, ...string)) {
		for _, role := range raftRoles {
			is := 0.0
			if v.replication.Role == role {
				is = 1
			}
			value(is, string(role))
		}
	}},
	{"raft_has_quorum", "1 if decisions can be made, else 0.", gauge, nil, isClustered, boolean(func(v *view) bool { return v.replication.HasQuorum })},
	{"raft_term", "Number of the latest election.", gauge, nil, isClustered, integer(func(v *view) uint64 { return v.replication.Term })},
	{"raft_first_index", "First entry of the log.", gauge, nil, isClustered, integer(func(v *view) uint64 { return v.replication.FirstIndex })},
	{"raft_last_index", "Last entry of the log.", gauge, nil, isClustered, integer(func(v *view) uint64 { return v.replication.LastIndex })},
	{"raft_commit_index", "Last entry that is decided for good.", gauge, nil, isClustered, integer(func(v *view) uint64 { return v.replication.CommitIndex })},
	{"raft_applied_index", "Last entry that is part of the state.", gauge, nil, isClustered, integer(func(v *view) uint64 { return v.replication.AppliedIndex })},
	{"raft_last_contact_seconds", "How long ago the leader was heard of, 0 on the leader; none where it never was.", gauge, nil, isClustered, func(v *view, value func(float64, ...string)) {
		if v.replication.LastContact >= 0 {
			value(v.replication.LastContact.Seconds())
		}
	}},
	{"raft_member_online", "1 for members heard of lately, else 0. Only the leader knows of all.", gauge, []string{"member"}, isClustered, func(v *view, value func(float64, ...string)) {
		for _, n := range v.nodes {
			is := 0.0
			if n.Online {
				is = 1
			}
			value(is, n.Raft)
		}
	}},
	{"raft_member_lag_entries", "Entries that members are behind, counting those since they were last heard of, which may be a second ago; none where that is not known.", gauge, []string{"member"}, isClustered, func(v *view, value func(float64, ...string)) {
		for _, n := range v.nodes {
			if behind := v.replication.Behind(n); behind >= 0 {
				value(float64(behind), n.Raft)
			}
		}
	}},
	{"raft_entries_total", "Entries of the log that this node carried out.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.Entries })},
	{"raft_entry_bytes_total", "Bytes of these.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.EntryBytes })},
	{"raft_forwarded_total", "Batches left to the leader.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.Forwarded })},
	{"raft_uncertain_total", "Requests answered that they may or may not have been carried out.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.Uncertain })},
	{"raft_no_quorum_refused_total", "Batches refused for want of a majority.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.Refused })},
	{"raft_no_quorum_answered_total", "Decisions answered as --no-quorum says instead.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.NoQuorum })},
	{"raft_local_decisions_total", "Those of these that were decided by what this node knew.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.Local })},
	{"raft_elections_total", "Elections that this node won.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.Elections })},
	{"raft_leader_changes_total", "How often this node learnt of another leader.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.LeaderChanges })},
	{"raft_restarts_total", "How often this node began anew within its process.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.Restarts })},
	{"raft_refused_links_total", "Links of other nodes, or of strangers, that were refused or closed for changed bytes; the log tells the addresses.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Totals.RefusedLinks })},
	{"raft_links_open", "1 while any node that reaches this one is let in without a secret or a certificate, else 0.", gauge, nil, isClustered, boolean(func(v *view) bool { return strings.HasSuffix(v.replication.Links, "open") })},
	{"raft_snapshots_installed_total", "Snapshots that the leader sent.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Snapshot.Installed })},
	{"raft_snapshot_index", "Last entry in the newest snapshot.", gauge, nil, isClustered, integer(func(v *view) uint64 { return v.replication.Snapshot.Index })},
	{"raft_sync_p99_seconds", "What one sync of the log of a hundred takes or exceeds; 0 if unknown.", gauge, nil, isClustered, float(func(v *view) float64 { return v.replication.FsyncP99.Seconds() })},
	{"raft_clock_offset_seconds", "How far the cluster's time is ahead of this machine's.", gauge, nil, isClustered, float(func(v *view) float64 { return v.replication.Clock.Offset.Seconds() })},
	{"raft_clock_clamps_total", "Looks, one a second, at which the cluster's time was more than a second from the nodes' clocks.", counter, nil, isClustered, integer(func(v *view) int64 { return v.replication.Clock.Clamps })},
	{"raft_clock_clamped_seconds", "How far the nodes' clocks are ahead of the cluster's time, if by more than a second.", gauge, nil, isClustered, float(func(v *view) float64 { return v.replication.Clock.Clamped.Seconds() })},
}
