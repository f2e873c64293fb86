package replication

import (
	"time"

	"github.com/hashicorp/raft"
)

// calmLooks is how many seconds pass until a node asks others how they are when all is
// calm: a call wakes both of them some ten times.
const maxIdleTicks = 5

// calmness is when a node last asked others how they are, and whether that found all well.
// While it did, and nothing has come into the log since, it need not ask again each time.
type pollBackoff struct {
	term, last uint64
	passed     int
	idle       bool
}

// asks is called once in attendEvery with where the log is, and says whether to ask.
func (c *pollBackoff) due(term, last uint64) bool {
	c.passed++
	if c.idle && c.term == term && c.last == last && c.passed < maxIdleTicks {
		return false
	}
	c.term, c.last, c.passed = term, last, 0
	return true
}

// found notes whether all is well.
func (c *pollBackoff) record(well bool) { c.idle = well }

// allWell says whether all members are voters, have all of the leader's log, and were
// heard of lately.
func (n *Node) allCaughtUp(s *raftStack) bool {
	self, last, news, now := n.identity().Node, s.raft.LastIndex(), n.peers.all(), n.mono()
	for _, server := range s.raft.GetConfiguration().Configuration().Servers {
		p := news[string(server.ID)]
		if string(server.ID) != self && (server.Suffrage != raft.Voter || p.LastIndex < last || now-p.At > maintainInterval) {
			return false
		}
	}
	return true
}

// allHave says whether the leader has heard of all others lately, and that they have an entry.
func summariesReach(words []peerSummary, last uint64) bool {
	for _, w := range words {
		if w.LastIndex < last || w.Seen > maintainInterval {
			return false
		}
	}
	return true
}

// onlineFor is how long after the last word of a member it counts as online. A leader hears
// of it with each heartbeat, others with the leader's word.
func onlineFor(leading bool) time.Duration {
	if leading {
		return 3 * maintainInterval
	}
	return (2 + maxIdleTicks) * maintainInterval
}
