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
	// until is a lower bound on the time of the next removal by a sweep, while the shard keeps records of
	// limits that have reset. soonest collects this bound for the next round.
	soonest, until Instant
}

// note lowers the bounds to at, when a record may be removed.
func (r *reuse) note(at Instant) { r.soonest, r.until = min(r.soonest, at), min(r.until, at) }

// endRound must be called once all pages have been visited.
func (r *reuse) endRound() { r.soonest, r.until = latest, r.soonest }

// rests reports whether a sweep at now has nothing to remove. See idleSince for idle.
func (r *reuse) rests(now, idle Instant) bool { return idle < now && now < r.until }

// isReused reports whether the record in the cell is left to the key's next take when it has expired.
func (c *cell) isReused() bool { return !c.params.Alg.IsPlain() && c.tail() == nil }

// removal returns when a sweep may remove the record in the cell, which expires at expiry.
func (c *cell) removal(expiry Instant) Instant {
	if c.isReused() {
		return expiry + reuseTime
	}
	return expiry
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
