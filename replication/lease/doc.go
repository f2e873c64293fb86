// Package lease decides whether a leader may answer from its own state, without an entry in the
// log. It knows neither raft nor a link, and imports only the standard library.
//
// A follower that receives a request of its leader promises to vote for no other node for
// promiseShare of an election timeout: see Promise. The leader notes when it sent each request
// that a voter acknowledged: see Grants. A majority of the voters promised at some time after the
// leader sent these requests, so no other node can lead before leaseShare of an election timeout
// has passed since then. The difference between the two shares is for clocks that run at
// different speeds.
//
// The leader evaluates a look first, and reads the clock afterwards. A process that is paused in
// between finds its lease over. The clock of the leader must go on while the machine is
// suspended: see Clock.
//
// A promise has two ends besides its time. The leader hands its leadership over: it drops its
// lease for the rest of its term, and its successor tells the voters that term. A node that
// starts does not know its promises from before, and so begins with a promise.
package lease

import "time"

const (
	// leaseShare is the length of a lease in election timeouts. An idle leader sends a
	// heartbeat to each follower after at most 0.34.
	leaseShare = 0.3
	// promiseShare is the length of a promise in election timeouts. It is longer than
	// leaseShare by a third, so a clock may be slow by 14 % while another one is fast by 14 %.
	// It is less than the time for which a node without a leader waits before it wants an
	// election.
	promiseShare = 0.4
)

// Times returns the lengths of leases and of promises for an election timeout.
func Times(election time.Duration) (lease, promise time.Duration) {
	return time.Duration(leaseShare * float64(election)), time.Duration(promiseShare * float64(election))
}
