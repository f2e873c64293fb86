package engine

const (
	// paneNanos is the length of a pane, the shortest span that can be told apart.
	intervalNanos = 10e9
	// minutePanes are the panes of a minute; hourPanes those of a block, of which
	// an hour has hourBlocks.
	minuteIntervals = 6
	blockIntervals  = 30
	hourBlocks      = 12
)

// panes count the keys of a shard by time: the tally is of the pane that goes on,
// and what it had at its end is kept for a minute and added to the block of five
// minutes that goes on, which is kept for an hour.
type topWindows struct {
	end     Instant // of the pane that goes on
	counter heavyHitters
	keys    int                          // that a tally has room for
	number  int64                        // of the pane that goes on: its time divided by paneNanos
	minute  [minuteIntervals]topInterval // by number
	block   topInterval
	hour    [hourBlocks]topInterval // by number
}

// A pane has a number as of panes, or that divided by blockPanes.
type topInterval struct {
	number int64
	topList
}

const (
	// tallyKeys is how many keys the tallies of all shards have room for, and
	// leastTally those of one.
	trackedKeys    = 4096
	minTrackedKeys = 16
	// paneShare and blockShare are which part of that a pane keeps, and a block
	// that goes on.
	intervalShare = 4
	blockShare    = 2
)

// at is the tally of the pane of now.
func (p *topWindows) current(now Instant, scratch *topScratch) *heavyHitters {
	if now >= p.end {
		p.rotate(now, scratch)
	}
	return &p.counter
}

// turn ends the pane that goes on, and begins that of now.
func (p *topWindows) rotate(now Instant, scratch *topScratch) {
	if p.end == 0 {
		p.counter = newHeavyHitters(p.keys)
	}
	if p.counter.total > 0 {
		p.archive(scratch)
		p.counter.reset()
	}
	p.number = int64(now) / intervalNanos
	p.end = Instant(p.number+1) * intervalNanos
}

// keep puts away what the tally has.
func (p *topWindows) archive(scratch *topScratch) {
	if number := p.number / blockIntervals; number != p.block.number {
		done := &p.hour[p.block.number%hourBlocks]
		done.number = p.block.number
		scratch.cut(&done.topList, &p.block.topList, p.keys/intervalShare)
		p.block.number = number
		p.block.reset()
	}
	tracked := &scratch.tracked
	p.counter.list(tracked)
	scratch.merged.merge(&p.block.topList, tracked)
	scratch.cut(&p.block.topList, &scratch.merged, p.keys/blockShare)
	interval := &p.minute[p.number%minuteIntervals]
	interval.number = p.number
	scratch.cut(&interval.topList, tracked, p.keys/intervalShare)
}

// since calls add with what was counted from the pane of a number on, or the block,
// as lists of disjoint times.
func (p *topWindows) each(window TopWindow, first int64, scratch *topScratch, add func(*topList)) {
	number, old := p.number, p.minute[:]
	if window == TopHour {
		number, old = p.number/blockIntervals, p.hour[:]
		if p.block.number >= first {
			add(&p.block.topList)
		}
	}
	for i := range old {
		if old[i].number >= first {
			add(&old[i].topList)
		}
	}
	if number >= first && p.counter.total > 0 {
		p.counter.list(&scratch.tracked)
		add(&scratch.tracked)
	}
}
