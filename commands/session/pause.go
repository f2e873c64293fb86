package session

import (
	"sync"
	"time"
)

// A pause holds commands back until a time. A session that it holds is in the state away,
// as if an empty batch were in flight; the batch completes when the pause ends.
// Concurrency: any number of goroutines may call its methods.
type pause struct {
	hooks *hooks // has the bit paused while there is a pause

	mu     sync.Mutex
	until  time.Time
	all    bool // also commands that do not write
	timer  *time.Timer
	parked []func(error)
}

// begin starts a pause or extends the current pause: the later end and the wider scope
// count.
func (p *pause) begin(d time.Duration, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	until := time.Now().Add(d)
	if p.timer != nil {
		all = all || p.all
		if until.Before(p.until) {
			until = p.until
		}
		p.timer.Stop()
	}
	p.until, p.all = until, all
	p.timer = time.AfterFunc(time.Until(until), p.expire)
	p.hooks.set(paused, true)
}

// expire is called by the timer. The timer may be late, so a pause that was extended
// continues.
func (p *pause) expire() { p.endIf(func() bool { return !time.Now().Before(p.until) }) }

// end ends the pause if there is a pause.
func (p *pause) end() { p.endIf(func() bool { return true }) }

// endIf ends the pause if there is a pause and due, called with the lock held, returns
// true.
func (p *pause) endIf(due func() bool) {
	p.mu.Lock()
	if p.timer == nil || !due() {
		p.mu.Unlock()
		return
	}
	p.timer.Stop()
	parked := p.parked
	p.timer, p.parked = nil, nil
	p.hooks.set(paused, false)
	p.mu.Unlock()
	for _, wake := range parked {
		wake(nil)
	}
}

// holds reports whether a command, which writes or not, must wait for the end of the
// pause. Then park has been called, and wake is called at the end.
func (p *pause) holds(writes bool, park func(), wake func(error)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil || !p.all && !writes {
		return false
	}
	park()
	p.parked = append(p.parked, wake)
	return true
}
