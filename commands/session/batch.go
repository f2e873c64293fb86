package session

import (
	"sync"

	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
	"limitsrv/internal/invariants"
)

// A pendingBatch has commands and their ops, until they are answered. A session holds a
// pendingBatch only meanwhile, so that an idle session keeps no memory for its deepest
// pipeline.
type pendingBatch struct {
	batch engine.Batch
	items []item // the commands; the batch's ops belong to them in order
	asks  []Ask  // of the items that ask by rules
	load
	tally tally
	// request is the request that was parsed last: other requests are parsed again if they
	// are needed.
	request checks.Request
	memory  checks.Memory      // of the checks
	headers checks.Headers     // working memory
	once    reservations.Reply // of the item that was read last
	// attempts is the number of attempts to decide them again, and awaited is set while the
	// rules for the next attempt are awaited.
	attempts int
	awaited  bool
	// retried is the batch of the last retry; nil: no request was decided again.
	retried *engine.Batch
	ahead   []rendered
}

// A rendered is the reply to a call that was rendered ahead, see renderAhead.
type rendered struct {
	call  *engine.Call
	reply []byte
}

// aheadBytes is the least length of an answer, in bytes, to be rendered ahead.
const aheadBytes = 128 << 10

// renderAhead renders the long answers of a slow batch in its turn, so that the event loop that sends
// them, and its other clients, need not wait for it.
func (g *pendingBatch) renderAhead(proto3 bool) {
	if len(g.ahead) > 0 { // the rest of a transaction is rendered
		return
	}
	for i := range g.batch.Calls {
		if c := &g.batch.Calls[i]; len(c.Answer) >= aheadBytes {
			w := resp.Writer{Proto3: proto3}
			w.Answer(c.Answer)
			g.ahead = append(g.ahead, rendered{c, w.Buf})
		}
	}
}

// takeAhead returns the reply to a call that was rendered ahead, or nil.
func (g *pendingBatch) takeAhead(c *engine.Call) []byte {
	for i := range g.ahead {
		if g.ahead[i].call == c {
			return g.ahead[i].reply
		}
	}
	return nil
}

// An item is a gathered command. It is answered by its Reply with the decisions on its ops,
// or with err. An item without spec is a rejected command if err is set, else a queued
// command.
type item struct {
	spec *Spec
	err  error
	ops  int32
	ask  int32 // number of its Ask, from 1 on; 0: no Ask
	args [][]byte
}

// maxKept is the largest capacity, in items and in ops, of a pendingBatch that is reused.
const maxKept = 4096

// maxKeptAnswers is the largest memory of answers, in bytes, of a pendingBatch that is
// reused.
const maxKeptAnswers = 1 << 20

// maxSpare bounds the pool: more than there are threads that serve sessions.
const maxSpare = 64

// A batchPool is a pool of unused pending batches. Concurrency: any goroutine may use it.
type batchPool struct {
	mu   sync.Mutex
	list []*pendingBatch
}

func (p *batchPool) take() *pendingBatch {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.list)
	if n == 0 {
		return new(pendingBatch)
	}
	g := p.list[n-1]
	p.list = p.list[:n-1]
	return g
}

func (p *batchPool) put(g *pendingBatch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.list) < maxSpare {
		p.list = append(p.list, g)
	}
}

// gathered returns the session's pending batch, taking an empty batch from the pool if
// needed.
func (s *Session) gathered() *pendingBatch {
	if s.g == nil {
		s.open()
	}
	return s.g
}

func (s *Session) open() {
	s.g = s.h.batches.take()
	s.g.batch.Stale, s.g.batch.Features = s.stale, s.h.config.Cluster.Features()
}

// takeBack removes the ops and calls of a command, from the given indexes to the end, if other
// nodes could not read them. It then returns the error of that command; without it the whole batch
// would fail.
func (s *Session) takeBack(b *engine.Batch, ops, calls int) error {
	err := s.h.config.Cluster.Loggable(b, ops)
	if err != nil {
		b.Truncate(ops, calls)
	}
	return err
}

// add appends a command to the session's pending batch.
func (s *Session) add(it item) {
	g := s.gathered()
	g.items = append(g.items, it)
}

// giveBack returns the session's pending batch to the pool.
func (s *Session) giveBack() {
	if invariants.Enabled {
		s.checkState("a pending batch is given back", idle, arrived, closed)
	}
	g := s.g
	s.g = nil
	answers := 0
	for i := range g.batch.Calls {
		answers += cap(g.batch.Calls[i].Answer)
	}
	g.batch.Reset()
	clear(g.items) // they point to argument bytes and errors
	g.items = g.items[:0]
	g.memory.Release()
	g.once.Release()
	clear(g.asks)
	g.ahead = nil
	g.asks, g.load, g.tally, g.attempts, g.awaited, g.retried = g.asks[:0], load{}, tally{}, 0, false, nil
	if cap(g.items) <= maxKept && cap(g.batch.Ops) <= maxKept && answers <= maxKeptAnswers {
		s.h.batches.put(g)
	}
}
