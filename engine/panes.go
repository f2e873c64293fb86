package engine

const (
	// paneNanos is the length of a pane, the shortest span that can be told apart.
	paneNanos = 10e9
	// minutePanes are the panes of a minute; hourPanes those of a block, of which
	// an hour has hourBlocks.
	minutePanes = 6
	blockPanes  = 30
	hourBlocks  = 12
)

// panes count the keys of a shard by time: the tally is of the pane that goes on,
// and what it had at its end is kept for a minute and added to the block of five
// minutes that goes on, which is kept for an hour.
type panes struct {
	end    Instant // of the pane that goes on
	tally  tally
	keys   int               // that a tally has room for
	number int64             // of the pane that goes on: its time divided by paneNanos
	minute [minutePanes]pane // by number
	block  pane
	hour   [hourBlocks]pane // by number
}

// A pane has a number as of panes, or that divided by blockPanes.
type pane struct {
	number int64
	topList
}

const (
	// tallyKeys is how many keys the tallies of all shards have room for, and
	// leastTally those of one.
	tallyKeys  = 4096
	leastTally = 16
	// paneShare and blockShare are which part of that a pane keeps, and a block
	// that goes on.
	paneShare  = 4
	blockShare = 2
)

// at is the tally of the pane of now.
func (p *panes) at(now Instant, room *topScratch) *tally {
	if now >= p.end {
		p.turn(now, room)
	}
	return &p.tally
}

// turn ends the pane that goes on, and begins that of now.
func (p *panes) turn(now Instant, room *topScratch) {
	if p.end == 0 {
		p.tally = newTally(p.keys)
	}
	if p.tally.total > 0 {
		p.keep(room)
		p.tally.reset()
	}
	p.number = int64(now) / paneNanos
	p.end = Instant(p.number+1) * paneNanos
}

// keep puts away what the tally has.
func (p *panes) keep(room *topScratch) {
	if number := p.number / blockPanes; number != p.block.number {
		done := &p.hour[p.block.number%hourBlocks]
		done.number = p.block.number
		room.cut(&done.topList, &p.block.topList, p.keys/paneShare)
		p.block.number = number
		p.block.reset()
	}
	held := &room.held
	p.tally.list(held)
	room.merged.merge(&p.block.topList, held)
	room.cut(&p.block.topList, &room.merged, p.keys/blockShare)
	pane := &p.minute[p.number%minutePanes]
	pane.number = p.number
	room.cut(&pane.topList, held, p.keys/paneShare)
}

// since calls add with what was counted from the pane of a number on, or the block,
// as lists of disjoint times.
func (p *panes) since(window TopWindow, first int64, room *topScratch, add func(*topList)) {
	number, old := p.number, p.minute[:]
	if window == TopHour {
		number, old = p.number/blockPanes, p.hour[:]
		if p.block.number >= first {
			add(&p.block.topList)
		}
	}
	for i := range old {
		if old[i].number >= first {
			add(&old[i].topList)
		}
	}
	if number >= first && p.tally.total > 0 {
		p.tally.list(&room.held)
		add(&room.held)
	}
}
