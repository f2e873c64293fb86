package engine

// slide is the sliding window counter: the count of the current window, plus the count of
// the previous window multiplied by the share of it that a window ending now still
// overlaps, rounded down.
//
// Source: "How we built rate limiting capable of scaling to millions of domains",
// Cloudflare, 2017, in integers.
//
// State: the end of the window, an Instant, its count, and the count before.
type slide struct{}

func (slide) currentWindow(c *cell, now Instant) (end Instant, count, before int64) {
	end, count, before = Instant(c.state[0]), int64(c.state[1]), int64(c.state[2])
	if now < end {
		return end, count, before
	}
	if next := end + Instant(c.params.Period); now < next {
		return next, 0, count
	}
	return windowEnd(&c.params, now), 0, 0
}

// share returns the part of before that counts with left nanoseconds of the window to go.
func (slide) share(before int64, left Instant, window int64) int64 {
	if before == 0 {
		return 0
	}
	q, _ := mul(uint64(before), uint64(left)).div(uint64(window))
	return int64(q.lo)
}

// maxLeft returns the most nanoseconds left of a window that keep the share of before at
// most target; 0 if the share exceeds target even at the last nanosecond.
func (s slide) maxLeft(before, target, window int64) Instant {
	if before == 0 {
		return Instant(window)
	}
	return Instant(s.maxWithin(target, window, before, window))
}

// maxWithin returns the greatest x up to bound with floor(x * factor / window) at most
// target: floor(((target+1) * window - 1) / factor), because a value rounded down is at
// most target as long as the exact value is below target+1.
func (slide) maxWithin(target, window, factor, bound int64) int64 {
	below := mul(uint64(target+1), uint64(window)).subSaturating(wide{0, 1})
	q, _ := below.div(uint64(factor))
	return int64(q.min64(uint64(bound)))
}

func (s slide) used(c *cell, now Instant) int64 {
	end, count, before := s.currentWindow(c, now)
	return s.share(before, end-now, c.params.Period) + count
}

func (s slide) until(c *cell, now Instant, target int64) Span {
	var (
		window             = c.params.Period
		end, count, before = s.currentWindow(c, now)
	)
	if count <= target {
		if left := s.maxLeft(before, target-count, window); left > 0 {
			return spanOf(int64(end - left - now))
		}
	}
	end += Instant(window)
	return spanOf(int64(end - s.maxLeft(count, target, window) - now))
}

func (s slide) take(c *cell, now Instant, n int64) {
	end, count, before := s.currentWindow(c, now)
	c.state = state{uint64(end), uint64(count + n), uint64(before)}
}

// giveBack subtracts from the count of the window that contains since, never from both windows.
// Only a part of the previous window counts, so a permit moved between the windows would return too
// much.
func (s slide) giveBack(c *cell, now, since Instant, n int64) bool {
	end, count, before := s.currentWindow(c, now)
	start := end - Instant(c.params.Period)
	given := int64(0)
	switch {
	case since == unaged || since >= start:
		given = min(n, count)
		count -= given
	case since >= start-Instant(c.params.Period):
		given = min(n, before)
		before -= given
	}
	if given > 0 {
		s.store(c, end, count, before)
	}
	return given > 0
}

func (s slide) refund(c *cell, now Instant, n int64) {
	end, count, before := s.currentWindow(c, now)
	fromCount := min(n, count)
	if rest := n - fromCount; rest > 0 {
		before = s.cutBefore(before, end-now, c.params.Period, s.share(before, end-now, c.params.Period)-rest)
	}
	s.store(c, end, count-fromCount, before)
}

// cutBefore lowers before so that its share is at most target.
func (s slide) cutBefore(before int64, left Instant, window, target int64) int64 {
	if target < 0 {
		return 0
	}
	return s.maxWithin(target, window, int64(left), before)
}

func (slide) store(c *cell, end Instant, count, before int64) {
	if count == 0 && before == 0 {
		c.state = state{}
		return
	}
	c.state = state{uint64(end), uint64(count), uint64(before)}
}

// valid: at the end of a window each count is at most two limits.
func (s slide) valid(c *cell, now Instant) bool {
	end, count, before := Instant(c.state[0]), int64(c.state[1]), int64(c.state[2])
	return end >= 0 && end%Instant(c.params.Period) == 0 && end <= windowEnd(&c.params, now) &&
		count >= 0 && before >= 0 && count <= maxHeld && before <= maxHeld
}

// migrate counts the permits used in p's current window. If they would count less there
// than in their own windows, or not as long, they are held until they have left both
// windows.
func (s slide) migrate(c *cell, now Instant, p Params) {
	if p.Period == c.params.Period {
		c.params = p
		return
	}
	end, count, _ := s.currentWindow(c, now)
	used, next := s.used(c, now), windowEnd(&p, now)
	if used > 0 && (next < end || p.Period < c.params.Period) {
		if count > 0 {
			end += Instant(c.params.Period)
		}
		c.addHeld(now, used, max(end, next+Instant(p.Period)))
		used = 0
	}
	c.params = p
	s.store(c, next, used, 0)
}
