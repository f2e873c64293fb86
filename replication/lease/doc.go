// Package lease decides whether a leader may answer from its own state, without an entry in the
// log. It knows neither raft nor a link, and imports only the standard library.
//
// A follower that receives a request of its leader promises to vote for no other node during the
// next promiseShare of an election timeout: see Promise. The leader records when it sent each
// request that a voter acknowledged: see Grants. Each promise begins after the leader sent the
// request. So once a majority has acknowledged, no other node can lead until leaseShare of an
// election timeout after the sending. promiseShare is longer than leaseShare because clocks run at
// different speeds.
//
// The leader evaluates a look first, and reads the clock afterwards. If the process is paused in
// between, it finds that its lease is over. The clock of the leader must advance while the machine
// is suspended: see Clock.
//
// A promise ends with its time, and also if the leader hands its leadership over: the leader drops
// its lease for the rest of its term, and its successor sends that term to the voters. A node that
// starts has lost its earlier promises, and therefore starts with a new promise.
package lease

import "time"

const (
	// leaseShare is the length of a lease in election timeouts. An idle leader sends a
	// heartbeat to each follower after at most 0.34.
	leaseShare = 0.3
	// promiseShare is the length of a promise in election timeouts. It is longer than leaseShare
	// by a third, which allows a clock to be slow by 14 % while another is fast by 14 %. It is
	// shorter than the silence that makes a follower want an election.
	promiseShare = 0.4
)

// Times returns the lengths of leases and of promises for an election timeout.
func Times(election time.Duration) (lease, promise time.Duration) {
	return time.Duration(leaseShare * float64(election)), time.Duration(promiseShare * float64(election))
}
