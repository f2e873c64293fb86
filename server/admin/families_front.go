package admin

import "limitsrv/internal/status"

// isFront is the condition of the families of a front. A front has no families of raft.
func isFront(v *view) bool { return v.replication.Role == status.Front }

// frontFamilies are the metrics of a front.
var frontFamilies = []family{
	{"front_leader_known", "1 while this front knows a leader, else 0.", gauge, nil, isFront,
		boolean(func(v *view) bool { return v.replication.HasQuorum })},
	{"front_leader_changes_total", "Leaders that this front found, one after the other.", counter, nil, isFront,
		integer(func(v *view) int64 { return v.replication.Totals.LeaderChanges })},
	{"front_last_contact_seconds", "Time since the last message of the leader; no value before the first.", gauge, nil,
		isFront, func(v *view, value func(float64, ...string)) {
			if v.replication.LastContact >= 0 {
				value(v.replication.LastContact.Seconds())
			}
		}},
	{"front_forwarded_total", "Batches answered by the leader.", counter, nil, isFront,
		integer(func(v *view) int64 { return v.replication.Totals.Forwarded })},
	{"front_held", "Batches that wait for a leader, or for room on its link.", gauge, nil, isFront,
		integer(func(v *view) int64 { return v.replication.Held })},
	{"front_uncertain_total", "Batches answered with UNCERTAIN: they may or may not have been applied.", counter, nil,
		isFront, integer(func(v *view) int64 { return v.replication.Totals.Uncertain })},
	{"front_refused_total", "Batches rejected because no leader was known for too long.", counter, nil, isFront,
		integer(func(v *view) int64 { return v.replication.Totals.Refused })},
	{"front_no_quorum_answered_total", "Decisions answered by the rule of --no-quorum because no leader was known.",
		counter, nil, isFront, integer(func(v *view) int64 { return v.replication.Totals.NoQuorum })},
	{"front_messages_sent_total", "Messages of PUBLISH sent to nodes, counted once for each node.", counter, nil,
		isFront, integer(func(v *view) int64 { return v.replication.Totals.MessagesSent })},
	{"front_messages_dropped_total", "Messages of PUBLISH that were dropped on their way to a node.", counter, nil,
		isFront, integer(func(v *view) int64 { return v.replication.Totals.MessagesDropped })},
}
