package commands

import (
	"sync"

	"limitsrv/engine"
)

// A gathering is commands and the ops that they became, until they are answered.
// A session has one only meanwhile, so that one that rests holds no memory for
// the deepest pipeline that it ever had.
type gathering struct {
	batch engine.Batch
	items []item // the commands, which the batch's ops belong to in order
}

// An item is a gathered command: to be answered by its Reply over the ops that
// are its own, or with err. One without spec was refused with err, or was queued
// if there is no err.
type item struct {
	spec *spec
	err  error
	ops  int
	args [][]byte
}

// maxKept is how many items and ops a gathering may have room for to be used
// again.
const maxKept = 4096

// maxSpare is how many gatherings are kept for sessions to come: more than there
// are threads that carry sessions.
const maxSpare = 64

// spare are the gatherings that no session has. Many may use it at once.
type spare struct {
	mu   sync.Mutex
	list []*gathering
}

func (p *spare) take() *gathering {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.list)
	if n == 0 {
		return new(gathering)
	}
	g := p.list[n-1]
	p.list = p.list[:n-1]
	return g
}

func (p *spare) put(g *gathering) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) < maxSpare {
		p.list = append(p.list, g)
	}
}

// gathered is the session's gathering, an empty one if it has none.
func (s *Session) gathered() *gathering {
	if s.g == nil {
		s.g = s.h.spare.take()
		s.g.batch.Stale = s.stale
	}
	return s.g
}

// add puts a command into the session's gathering.
func (s *Session) add(it item) {
	g := s.gathered()
	g.items = append(g.items, it)
}

// giveBack takes the session's gathering away, for others to use.
func (s *Session) giveBack() {
	g := s.g
	s.g = nil
	g.batch.Reset()
	clear(g.items) // they point to argument bytes and errors
	g.items = g.items[:0]
	if cap(g.items) <= maxKept && cap(g.batch.Ops) <= maxKept {
		s.h.spare.put(g)
	}
}
