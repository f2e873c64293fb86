package engine

import "time"

// fixed is the fixed window counter. Windows are aligned to the Unix epoch, or
// to the UTC calendar. A debt, what a charge used beyond the limit, is carried
// into the next window; as it is at most one limit, it ends there.
//
// State: the end of the window, an Instant, and the permits used in it.
type fixed struct{}

// settle is the end of the window that now is in, and what is used in it.
func (fixed) settle(c *cell, now Instant) (end Instant, used int64) {
	end, used = Instant(c.state[0]), int64(c.state[1])
	if now < end {
		return end, used
	}
	if debt := used - c.params.Limit; debt > 0 {
		if next := windowEnd(&c.params, end); now < next {
			return next, debt
		}
	}
	return windowEnd(&c.params, now), 0
}

func (f fixed) used(c *cell, now Instant) int64 {
	if now >= Instant(c.state[0]) && int64(c.state[1]) <= c.params.Limit {
		return 0
	}
	_, used := f.settle(c, now)
	return used
}

func (f fixed) until(c *cell, now Instant, target int64) Span {
	end, used := f.settle(c, now)
	if used <= target {
		return Span{}
	}
	if used-c.params.Limit > target {
		end = windowEnd(&c.params, end)
	}
	return spanOf(int64(end - now))
}

func (f fixed) take(c *cell, now Instant, n int64) {
	end, used := f.settle(c, now)
	c.state = state{uint64(end), uint64(used + n)}
}

func (f fixed) give(c *cell, now Instant, n int64) {
	end, used := f.settle(c, now)
	if n >= used {
		c.state = state{}
		return
	}
	c.state = state{uint64(end), uint64(used - n)}
}

func (f fixed) change(c *cell, now Instant, p Params) {
	end, used := f.settle(c, now)
	used = keep(c, used, &p)
	if p.Period != c.params.Period || p.Calendar != c.params.Calendar {
		end = windowEnd(&p, now)
	}
	c.params = p
	c.state = state{uint64(end), uint64(used)}
}

func (fixed) sound(c *cell, now Instant) bool {
	end, used := Instant(c.state[0]), int64(c.state[1])
	return end >= 0 && end <= windowEnd(&c.params, now) && used >= 0 && used <= 2*c.params.Limit
}

// windowEnd is the end of the window of p that now is in.
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
