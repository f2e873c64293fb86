package engine

import (
	"fmt"
	"math/bits"
)

// A Penalty is the parameters of a penalty box, the algorithm of guards: see Guard. All
// lengths of time are in nanoseconds, in whole seconds up to MaxPeriod.
//
// A strike counts for Within, from the first strike on. The last of After strikes closes the
// box: for Block at level 0, and for Growth/100 times as long at each level above, rounded
// down at each level, but at most for Max. The level then rises by 1, and the strikes are 0
// again. It falls by 1 for each Forgive after the last block has ended.
type Penalty struct {
	After  int64 // strikes, 1 to MaxListed
	Within int64
	Block  int64 // at most Max
	Max    int64
	// Forgive is the time without a block until the level falls.
	Forgive int64
	// Growth is in hundredths, 100 to 1000.
	Growth int64
	// Extend begins a block again at each request that meets the closed box.
	Extend bool
}

const (
	minGrowth, maxGrowth = 100, 1000
	// extendFlag is added to Params.Growth by Extend.
	extendFlag = 1 << 15
	// secondsBits is the place of the first of two lengths in a word.
	secondsBits = 32
	// maxLevel is the highest level of a box.
	maxLevel = 1<<16 - 1
	second   = 1_000_000_000
)

// Check returns an error if parameters from outside are invalid.
func (p *Penalty) Check() error {
	times := [...]struct {
		name string
		ns   int64
	}{{"within", p.Within}, {"block", p.Block}, {"max", p.Max}, {"forgive", p.Forgive}}
	for _, t := range times {
		if t.ns < second || t.ns > MaxPeriod || t.ns%second != 0 {
			return fmt.Errorf("%s of a penalty is %d ns, whole seconds from %d to %d ns are allowed", t.name, t.ns, second,
				int64(MaxPeriod))
		}
	}
	switch {
	case p.After < 1 || p.After > MaxListed:
		return fmt.Errorf("after %d strikes, 1 to %d are allowed", p.After, MaxListed)
	case p.Growth < minGrowth || p.Growth > maxGrowth:
		return fmt.Errorf("growth of %d hundredths, %d to %d are allowed", p.Growth, minGrowth, maxGrowth)
	case p.Block > p.Max:
		return fmt.Errorf("a block of %d ns, and max is %d ns", p.Block, p.Max)
	}
	return nil
}

// Params returns the parameters for an Op. Requires: p.Check() == nil.
//
// Limit is After. Period is Within and Block, and Count is Max and Forgive, in seconds, the
// first in the upper half.
func (p *Penalty) Params() Params {
	pair := func(a, b int64) int64 { return a/second<<secondsBits | b/second }
	q := Params{Alg: Box, Growth: uint16(p.Growth), Limit: p.After, Count: pair(p.Max, p.Forgive),
		Period: pair(p.Within, p.Block)}
	if p.Extend {
		q.Growth |= extendFlag
	}
	return q
}

// Penalty returns the parameters of a Box.
func (p *Params) Penalty() Penalty {
	first := func(pair int64) int64 { return pair >> secondsBits * second }
	last := func(pair int64) int64 { return pair & (1<<secondsBits - 1) * second }
	return Penalty{
		After: p.Limit, Within: first(p.Period), Block: last(p.Period), Max: first(p.Count), Forgive: last(p.Count),
		Growth: int64(p.Growth &^ extendFlag), Extend: p.Growth&extendFlag != 0,
	}
}

// checkBox is Check for a Box.
func (p *Params) checkBox() error {
	if p.Calendar != NoCalendar {
		return fmt.Errorf("%v can not have calendar %d", p.Alg, p.Calendar)
	}
	x := p.Penalty()
	return x.Check()
}

// blockAt returns the length of the block that begins at a level.
func (p *Penalty) blockAt(level uint32) int64 {
	block := uint64(p.Block)
	for range level {
		hi, lo := bits.Mul64(block, uint64(p.Growth))
		if next, _ := bits.Div64(hi, lo, 100); next == block {
			break // growth of 1
		} else if block = next; block >= uint64(p.Max) {
			return p.Max
		}
	}
	return int64(block)
}

// box is the meter of penalty boxes. It has neither permits nor leases: guards of groups look
// at boxes and strike them.
//
// State: strikes<<32 | level; the start of the window of the strikes, an Instant; the end of
// the last block, an Instant, plus a Forgive for each level that has been subtracted from the
// level since.
type box struct{}

// A boxState is the state of a box.
type boxState struct {
	strikes, level uint32
	start, end     Instant
}

func loadBox(c *cell) boxState {
	return boxState{uint32(c.state[0] >> 32), uint32(c.state[0]), Instant(c.state[1]), Instant(c.state[2])}
}

// boxAt returns the state of the cell at now: without strikes that no longer count and levels
// that have been forgiven.
func (c *cell) boxAt(now Instant, p *Penalty) boxState {
	b := loadBox(c)
	if b.strikes > 0 && now-b.start >= Instant(p.Within) {
		b.strikes, b.start = 0, 0
	}
	if now > b.end {
		fallen := min((now-b.end)/Instant(p.Forgive), Instant(b.level))
		b.level -= uint32(fallen)
		b.end += fallen * Instant(p.Forgive)
	}
	if b.level == 0 {
		b.end = 0
	}
	return b
}

func (b *boxState) store(c *cell) {
	c.state = state{uint64(b.strikes)<<32 | uint64(b.level), uint64(b.start), uint64(b.end)}
}

// used tells if the box is not as good as new: 1 or 0.
func (box) used(c *cell, now Instant) int64 {
	p := c.params.Penalty()
	if b := c.boxAt(now, &p); b.strikes > 0 || b.level > 0 {
		return 1
	}
	return 0
}

// until returns the time until the box is as good as new, which used reports as 0.
func (box) until(c *cell, now Instant, target int64) Span {
	if target > 0 {
		return Span{}
	}
	p := c.params.Penalty()
	b := c.boxAt(now, &p)
	at := now
	if b.strikes > 0 {
		at = b.start + Instant(p.Within)
	}
	if b.level > 0 {
		at = max(at, b.newAt(&p))
	}
	return spanOf(int64(at - now))
}

// newAt returns the time when the level is 0, at most latest.
func (b *boxState) newAt(p *Penalty) Instant {
	hi, forgiven := bits.Mul64(uint64(b.level), uint64(p.Forgive))
	if hi > 0 || forgiven > uint64(latest-b.end) {
		return latest
	}
	return b.end + Instant(forgiven)
}

// migrate keeps the strikes, the level, and the end of a block.
func (box) migrate(c *cell, now Instant, p Params) {
	old := c.params.Penalty()
	b := c.boxAt(now, &old)
	b.store(c)
	c.params = p
}

func (box) valid(c *cell, now Instant) bool {
	b := loadBox(c)
	return c.past.isZero() && b.strikes <= MaxListed && b.level <= maxLevel &&
		b.start >= 0 && b.start <= now && (b.strikes > 0 || b.start == 0) &&
		b.end >= 0 && b.end <= now+MaxPeriod && (b.level > 0 || b.end == 0)
}

// strike adds a strike to the box in the cell, which is open.
func (c *cell) strike(now Instant) {
	p := c.params.Penalty()
	b := c.boxAt(now, &p)
	if b.strikes == 0 {
		b.start = now
	}
	if b.strikes++; int64(b.strikes) >= p.After {
		b.strikes, b.start = 0, 0
		b.end = now + Instant(p.blockAt(b.level))
		b.level = min(b.level+1, maxLevel)
	}
	b.store(c)
}

// extend begins the block of the closed box in the cell again.
func (c *cell) extend(now Instant) {
	p := c.params.Penalty()
	b := c.boxAt(now, &p)
	b.end = now + Instant(p.blockAt(b.level-1))
	b.store(c)
}

// fillBox describes the box in the cell, see Guard.
func (c *cell) fillBox(now Instant, d *Decision) {
	p := c.params.Penalty()
	b := c.boxAt(now, &p)
	*d = Decision{Params: c.params, Reset: c.meter().until(c, now, 0)}
	if now < b.end && b.level > 0 {
		d.Wait = spanOf(int64(b.end - now))
		return
	}
	d.Allowed, d.Remaining = 1, max(1, p.After-int64(b.strikes))
}

// BoxLevel returns the level of a box, from the decision of a guard whose box is closed or
// closes.
func (d *Decision) BoxLevel() int64 {
	p := d.Params.Penalty()
	return (d.Reset.nanos() - d.Wait.nanos()) / p.Forgive
}
