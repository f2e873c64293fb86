package engine

const (
	// intervalNanos is the length of an interval, the resolution of the windows.
	intervalNanos = 10e9
	// minuteIntervals is the number of intervals in a minute, blockIntervals in a block;
	// an hour has hourBlocks blocks.
	minuteIntervals = 6
	blockIntervals  = 30
	hourBlocks      = 12
)

// topWindows counts the keys of a shard by time. counter counts the current interval.
// When an interval ends, its counts are kept for a minute, and are added to the current
// block of five minutes, which is kept for an hour after its end.
type topWindows struct {
	end     Instant // of the current interval
	counter heavyHitters
	keys    int                          // capacity of a counter
	number  int64                        // of the current interval: its time divided by intervalNanos
	minute  [minuteIntervals]topInterval // by number
	block   topInterval
	hour    [hourBlocks]topInterval // by number
}

// A topInterval is numbered as an interval, or as a block: that number divided by
// blockIntervals.
type topInterval struct {
	number int64
	topList
}

const (
	// trackedKeys is the capacity in keys of the counters of all shards, and
	// minTrackedKeys the minimum for one.
	trackedKeys    = 4096
	minTrackedKeys = 16
	// intervalShare and blockShare are the parts of the capacity kept for an ended
	// interval, and for the current block.
	intervalShare = 4
	blockShare    = 2
)

// current returns the counter of the interval of now.
func (p *topWindows) current(now Instant, scratch *topScratch) *heavyHitters {
	if now >= p.end {
		p.rotate(now, scratch)
	}
	return &p.counter
}

// rotate ends the current interval and begins the one of now.
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

// archive stores the counts of the current interval.
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

// each calls add with the counts from the interval or block number first on, as lists of
// disjoint times.
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
