package engine

import "time"

// fixed is the fixed window counter. Windows are aligned to the Unix epoch, or to the UTC
// calendar. A debt, the permits that a charge used beyond the limit, also counts in the
// next window, and ends there.
//
// State: the end of the window, an Instant, and the permits used in it. The debt among
// these is in the past of the key.
type fixed struct{}

// currentWindow returns the end of the window of now, the permits used in it, and the
// debt among them.
func (fixed) currentWindow(c *cell, now Instant) (end Instant, used, debt int64) {
	end, used = Instant(c.state[0]), int64(c.state[1])
	if now < end {
		return end, used, c.past.debt
	}
	if c.past.debt > 0 {
		if next := windowEnd(&c.params, end); now < next {
			return next, c.past.debt, 0
		}
	}
	return windowEnd(&c.params, now), 0, 0
}

func (f fixed) used(c *cell, now Instant) int64 {
	if now >= Instant(c.state[0]) && c.past.debt == 0 {
		return 0
	}
	_, used, _ := f.currentWindow(c, now)
	return used
}

func (f fixed) until(c *cell, now Instant, target int64) Span {
	end, used, debt := f.currentWindow(c, now)
	if used <= target {
		return Span{}
	}
	if debt > target {
		end = windowEnd(&c.params, end)
	}
	return spanOf(int64(end - now))
}

func (f fixed) take(c *cell, now Instant, n int64) {
	end, used, debt := f.currentWindow(c, now)
	if before := used + c.held(now) - c.params.Limit; before+n > 0 { // charged
		debt += before + n - max(0, before)
	}
	c.past.debt = debt
	c.state = state{uint64(end), uint64(used + n)}
}

func (f fixed) refund(c *cell, now Instant, n int64) {
	end, used, debt := f.currentWindow(c, now)
	c.past.debt = max(0, debt-n)
	if n >= used {
		c.state = state{}
		return
	}
	c.state = state{uint64(end), uint64(used - n)}
}

func (f fixed) giveBack(c *cell, now, since Instant, n int64) bool {
	end, used, _ := f.currentWindow(c, now)
	if used == 0 || since != unaged && windowEnd(&c.params, since) != end {
		return false
	}
	f.refund(c, now, n)
	return true
}

// migrate counts the permits used in p's current window, or holds them until the end of
// their own window if that is later.
func (f fixed) migrate(c *cell, now Instant, p Params) {
	if p.Period == c.params.Period && p.Calendar == c.params.Calendar {
		c.params = p
		return
	}
	end, used, debt := f.currentWindow(c, now)
	next := windowEnd(&p, now)
	if used > 0 && next < end {
		if debt > 0 {
			end = windowEnd(&c.params, end)
		}
		c.addHeld(now, used, end)
		used, debt = 0, 0
	}
	c.params, c.past.debt = p, debt
	c.state = state{uint64(next), uint64(used)}
	if used == 0 {
		c.state = state{}
	}
}

func (fixed) valid(c *cell, now Instant) bool {
	end, used := Instant(c.state[0]), int64(c.state[1])
	return end >= 0 && end <= windowEnd(&c.params, now) && used >= 0 && used <= maxHeld && c.past.debt <= used
}

// windowEnd returns the end of the window of p that contains now.
func windowEnd(p *Params, now Instant) Instant {
	if p.Calendar == NoCalendar {
		return now - now%Instant(p.Period) + Instant(p.Period)
	}
	t := time.Unix(0, int64(now)).UTC()
	y, m, d := t.Date()
	switch p.Calendar {
	case Day:
		d++
	case Week:
		d += 7 - (int(t.Weekday())+6)%7 // Monday is day 0 of its week
	case Month:
		m, d = m+1, 1
	case Year:
		y, m, d = y+1, time.January, 1
	}
	return Instant(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).UnixNano())
}
