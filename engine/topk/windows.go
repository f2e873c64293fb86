package topk

// A Window is a span of time that ends now.
type Window uint8

const (
	// Minute starts at the last multiple of ten seconds since the epoch that is at least
	// a minute ago: 60 to 70 seconds.
	Minute Window = iota
	// Hour starts at the last multiple of five minutes since the epoch that is at least
	// an hour ago: 60 to 65 minutes.
	Hour
)

const (
	// intervalNanos is the length of an interval, the resolution of the windows.
	intervalNanos = 10e9
	// minuteIntervals is the number of intervals in a minute, blockIntervals in a block;
	// an hour has hourBlocks blocks.
	minuteIntervals = 6
	blockIntervals  = 30
	hourBlocks      = 12
	// intervalShare and blockShare are the parts of the capacity kept for an ended
	// interval, and for the current block.
	intervalShare = 4
	blockShare    = 2
)

// Windows count keys by time. Times are nanoseconds since the Unix epoch.
//
// counter counts the current interval. When an interval ends, its counts are kept for a
// minute, and are added to the current block of five minutes, which is kept for an hour
// after its end. Concurrency: not safe for concurrent use.
type Windows struct {
	end        int64 // of the current interval
	counter    Counter
	keys       int                       // capacity of a counter
	longestKey int                       // in bytes
	number     int64                     // of the current interval: its time divided by intervalNanos
	minute     [minuteIntervals]interval // by number
	block      interval
	hour       [hourBlocks]interval // by number
}

// An interval is numbered as an interval, or as a block: that number divided by
// blockIntervals.
type interval struct {
	number int64
	list
}

// New returns Windows with a capacity of keys, a power of two, for keys of at most
// longestKey bytes. Requires: longestKey is at most 64 * keys, and below 1 << 16. Its memory, about 320 bytes
// a key, is allocated by the first count.
func New(keys, longestKey int) Windows { return Windows{keys: keys, longestKey: longestKey} }

// Current returns the counter of the interval of now, which must not be used after a
// later call. Requires: now is not before the now of an earlier call. Cost: at the first
// call in an interval, some 20 microseconds for a capacity of 256 keys; otherwise it is
// inlined.
func (p *Windows) Current(now int64, scratch *Scratch) *Counter {
	if now >= p.end {
		p.rotate(now, scratch)
	}
	return &p.counter
}

// Last returns the counter of the last call of Current, to Prefetch.
func (p *Windows) Last() *Counter { return &p.counter }

// rotate closes the current interval and opens the interval that contains now.
func (p *Windows) rotate(now int64, scratch *Scratch) {
	if p.end == 0 {
		p.counter = newCounter(p.keys)
	}
	if p.counter.total > 0 {
		p.archive(scratch)
		p.counter.reset()
	}
	p.number = now / intervalNanos
	p.end = (p.number + 1) * intervalNanos
}

// archive stores the counts of the current interval.
func (p *Windows) archive(scratch *Scratch) {
	if number := p.number / blockIntervals; number != p.block.number {
		done := &p.hour[p.block.number%hourBlocks]
		done.number = p.block.number
		scratch.cut(&done.list, &p.block.list, p.keys/intervalShare, p.longestKey)
		p.block.number = number
		p.block.reset()
	}
	tracked := &scratch.tracked
	p.counter.listTo(tracked)
	scratch.merged.merge(&p.block.list, tracked)
	scratch.cut(&p.block.list, &scratch.merged, p.keys/blockShare, p.longestKey)
	ended := &p.minute[p.number%minuteIntervals]
	ended.number = p.number
	scratch.cut(&ended.list, tracked, p.keys/intervalShare, p.longestKey)
}

// each calls add with the counts from the interval or block number first on, as lists of
// disjoint times.
func (p *Windows) each(window Window, first int64, scratch *Scratch, add func(*list)) {
	number, old := p.number, p.minute[:]
	if window == Hour {
		number, old = p.number/blockIntervals, p.hour[:]
		if p.block.number >= first {
			add(&p.block.list)
		}
	}
	for i := range old {
		if old[i].number >= first {
			add(&old[i].list)
		}
	}
	if number >= first && p.counter.total > 0 {
		p.counter.listTo(&scratch.tracked)
		add(&scratch.tracked)
	}
}
