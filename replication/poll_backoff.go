package replication

import (
	"time"

	"github.com/hashicorp/raft"
)

// maxIdleTicks is the number of maintainIntervals between status calls of an idle cluster:
// a call wakes both nodes some ten times.
const maxIdleTicks = 5

// A pollBackoff reduces status calls: while the last one found all members caught up, and
// the log has not grown since, the next is due only after maxIdleTicks.
type pollBackoff struct {
	term, last uint64
	passed     int
	idle       bool
}

// due is called once per maintainInterval with the position of the log, and reports
// whether to make the call.
func (c *pollBackoff) due(term, last uint64) bool {
	c.passed++
	if c.idle && c.term == term && c.last == last && c.passed < maxIdleTicks {
		return false
	}
	c.term, c.last, c.passed = term, last, 0
	return true
}

// record stores the result of the call.
func (c *pollBackoff) record(idle bool) { c.idle = idle }

// allCaughtUp reports whether all members are voters, have all of the leader's log, and
// were heard from recently.
func (n *Node) allCaughtUp(s *raftStack) bool {
	self, last, reports, now := n.identity().Node, s.raft.LastIndex(), n.peers.all(), n.mono()
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		p := reports[string(server.ID)]
		if string(server.ID) != self && (server.Suffrage != raft.Voter || p.LastIndex < last || now-p.At > maintainInterval) {
			return false
		}
	}
	return true
}

// summariesReach reports whether the leader heard from all others recently and they have
// an entry.
func summariesReach(words []peerSummary, last uint64) bool {
	for _, w := range words {
		if w.LastIndex < last || w.Seen > maintainInterval {
			return false
		}
	}
	return true
}

// onlineFor returns the time after a member's last report for which it counts as online. A
// leader gets a report with each heartbeat, other nodes get the leader's summaries.
func onlineFor(leading bool) time.Duration {
	if leading {
		return 3 * maintainInterval
	}
	return (2 + maxIdleTicks) * maintainInterval
}
