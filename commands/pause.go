package commands

import (
	"strconv"
	"sync"
	"time"

	"limitsrv/commands/resp"
)

var (
	errTimeout   = resp.NewError("ERR", "timeout is not an integer or out of range")
	errNegative  = resp.NewError("ERR", "timeout is negative")
	errPauseMode = resp.NewError("ERR", "CLIENT PAUSE mode must be WRITE or ALL")
)

// A pause holds commands back until a time. A session that it holds is in the state away,
// as if an empty batch were in flight; the batch completes when the pause ends.
type pause struct {
	mu     sync.Mutex
	until  time.Time
	all    bool // also commands that do not write
	timer  *time.Timer
	parked []func(error)
}

// maxTimeout is the longest timeout in milliseconds: more than a hundred days.
const maxTimeout = 1e10

func runPause(s *Session, args [][]byte) {
	millis, err := parseTimeout(args[2])
	all := len(args) == 3 || isWord(args[3], "ALL")
	switch {
	case !all && !isWord(args[3], "WRITE"):
		s.w.Error(errPauseMode)
	case err != nil:
		s.w.Error(err)
	default:
		s.h.pauseFor(time.Duration(millis)*time.Millisecond, all)
		s.w.OK()
	}
}

// parseTimeout parses milliseconds, 0 or more.
func parseTimeout(arg []byte) (int64, error) {
	millis, err := strconv.ParseInt(string(arg), 10, 64)
	switch {
	case err != nil || millis > maxTimeout:
		return 0, errTimeout
	case millis < 0:
		return 0, errNegative
	}
	return millis, nil
}

// pauseFor begins a pause or extends the current one: the later end and the wider scope
// count.
func (h *Handler) pauseFor(d time.Duration, all bool) {
	p := &h.pause
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
	p.timer = time.AfterFunc(time.Until(until), h.endPause)
	h.attend(paused, true)
}

// endPause is called by the timer. The timer may be late, so a pause that was extended
// continues.
func (h *Handler) endPause() {
	if h.pause.over() {
		h.unpause()
	}
}

func (p *pause) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !time.Now().Before(p.until)
}

// unpause ends CLIENT PAUSE if there is one. Any goroutine may call it.
func (h *Handler) unpause() {
	p := &h.pause
	p.mu.Lock()
	parked := p.parked
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer, p.parked = nil, nil
	h.attend(paused, false)
	p.mu.Unlock()
	for _, wake := range parked {
		wake(nil)
	}
}

// holdBack reports whether a command must wait for the end of the pause; then the session
// is in the state away.
func (s *Session) holdBack(c *spec) bool {
	if c.Flags&Unpaused != 0 {
		return false
	}
	if !s.flush() {
		return true
	}
	p := &s.h.pause
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil || !p.all && !s.writes(c) {
		return false
	}
	s.state.Store(away)
	s.began = 0
	p.parked = append(p.parked, s.done)
	return true
}

// writes reports whether a command may change a key; EXEC does if a queued command may.
func (s *Session) writes(c *spec) bool {
	if c.Command != &exec {
		return c.Flags&Write != 0 && !s.tx.open
	}
	for _, q := range s.tx.queue {
		if q.spec.Flags&Write != 0 {
			return true
		}
	}
	return false
}
