package engine

const (
	// reuseTime is how long the record of a limit that has reset is left to its next take,
	// while that pays and memory is not short, in nanoseconds.
	reuseTime Instant = 10e9
	// reuseTrial is the time between two trials whether that pays, in nanoseconds.
	reuseTrial = 16 * reuseTime
)

// A reuse tells whether it pays to leave the records of limits that have reset to their next
// takes. To use a record again costs half of removing it and inserting another; but if few keys
// are asked again soon, the table grows for nothing, and a larger table is slower. So they are
// left while, in each reuseTime, no more are removed after all than are used again, and
// otherwise not for reuseTrial.
type reuse struct {
	used, wasted uint32  // since the last judgement
	off          bool    // it does not pay
	judged       Instant // when it is judged next
}

// idleSince returns the latest expiry of a record to be removed at now, if its key may be asked
// again soon.
func (r *reuse) idleSince(now Instant) Instant {
	if now >= r.judged {
		r.off = !r.off && r.used < r.wasted
		r.used, r.wasted, r.judged = 0, 0, now+reuseTime
		if r.off {
			r.judged = now + reuseTrial
		}
	}
	if r.off {
		return now
	}
	return max(0, now-reuseTime)
}
