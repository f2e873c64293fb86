package engine

// A past is the part of a key's state that only changed parameters and debts leave. It is
// stored with the parameters, because few keys have a past and many of these have the same.
// The zero value is no past.
//
// For the limiters that carried wraps it is n permits that count until an Instant: permits used in
// a longer window than the current window. When permits are added to them, all count until the
// latest of the ends. debt, for FIXED only, is the number of permits in the state that were
// charged beyond the limit.
//
// For pastBucket n is the unit in which the state counts time, in parts of a nanosecond,
// unless that is the Count of the parameters. debt is the Count and until the Period of the
// fastest rate that permits were taken with, unless that is the rate of the parameters.
type past struct {
	until Instant
	n     int64
	debt  int64
	held  int64 // 1 if the key has a list of holds, otherwise 0
}

const (
	// maxUsed is greater than any sum of permits that a decision compares. More permits
	// in use are reported as maxUsed.
	maxUsed = 1 << 62
	// maxHeld bounds the permits used of a key with held permits.
	maxHeld = 2 * MaxLimit
)

func (p *past) isZero() bool { return int64(p.until)|p.n|p.debt|p.held == 0 }

// held returns the permits of the past that count at now.
func (c *cell) held(now Instant) int64 {
	if now >= c.past.until {
		return 0
	}
	return c.past.n
}

// carried is the limiter of a key with a past for the algorithms without buckets: held
// permits are in use as well.
type carried struct {
	limiter
	debts bool // the past may have a debt
}

func (r carried) used(c *cell, now Instant) int64 {
	return r.limiter.used(c, now) + c.held(now)
}

func (r carried) until(c *cell, now Instant, target int64) Span {
	held := c.held(now)
	if held == 0 {
		return r.limiter.until(c, now, target)
	}
	leave := spanOf(int64(c.past.until - now))
	if held <= target {
		if wait := r.limiter.until(c, now, target-held); wait.less(leave) {
			return wait
		}
	}
	if wait := r.limiter.until(c, now, target); leave.less(wait) {
		return wait
	}
	return leave
}

// valid also checks the past.
func (r carried) valid(c *cell, now Instant) bool {
	x := c.past
	switch {
	case x.n < 0 || x.debt < 0 || x.debt > maxHeld || x.debt > 0 && !r.debts:
		return false
	case x.until == 0:
		return x.n == 0 && r.limiter.valid(c, now)
	}
	return x.n > 0 && x.n <= maxHeld && x.until > 0 && x.until-now <= 2*MaxPeriod+MaxPeriod/10 && r.limiter.valid(c, now)
}

// giveBack returns held permits last. If since is known it returns no held permits, because they
// were taken in another window, and the permits in use now are no bound: of those taken in the
// window before the current one only a share counts, and each of them can be given back.
func (r carried) giveBack(c *cell, now, since Instant, n int64) bool {
	if since != unaged {
		return r.limiter.giveBack(c, now, since, n)
	}
	fromState := min(n, r.limiter.used(c, now))
	held := min(n-fromState, c.held(now))
	given := fromState > 0 && r.limiter.giveBack(c, now, since, fromState)
	if held > 0 {
		c.addHeld(now, -held, 0)
	}
	return given || held > 0
}

// refund returns held permits last.
func (r carried) refund(c *cell, now Instant, n int64) {
	fromState := min(n, r.limiter.used(c, now))
	if fromState > 0 {
		r.limiter.refund(c, now, fromState)
	}
	c.addHeld(now, fromState-n, 0)
}

// addHeld adds n, which may be negative, to the permits held, and holds all of them until
// an Instant at least. Held permits that no longer count are forgotten.
func (c *cell) addHeld(now Instant, n int64, until Instant) {
	held := max(0, c.held(now)+n)
	switch {
	case held == 0:
		until = 0
	case now < c.past.until:
		until = max(until, c.past.until)
	}
	c.past.until, c.past.n = until, held
}
