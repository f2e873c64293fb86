package replication

import "time"

// maintainInterval is the interval of the periodic work, and of reports between nodes.
const maintainInterval = time.Second

// maxIdleTicks is the number of maintainIntervals between status calls of an idle cluster:
// a call wakes both nodes some ten times.
const maxIdleTicks = 5

// A pollBackoff reduces status calls: while the last call found all members caught up, and
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

// onlineFor returns how long after its last report a member counts as online. A leader gets
// a report with each heartbeat, other nodes get the leader's summaries.
func onlineFor(leading bool) time.Duration {
	if leading {
		return 3 * maintainInterval
	}
	return (2 + maxIdleTicks) * maintainInterval
}
