package session

import (
	"context"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
)

// maxAsks bounds the attempts to decide by rules that change meanwhile.
const maxAsks = 16

// errRulesChange answers a request after maxAsks attempts.
var errRulesChange = resp.NewError("TRYAGAIN",
	"the rules changed again and again while the request was decided; nothing was counted")

// An Ask is a command that asks by rules, until it is answered. It is small, because a pipeline may
// have many.
type Ask struct {
	check checks.Check
	// retry, unless nil, has the ops of the last attempt, n from first on; else the session's
	// batch has them.
	retry    *engine.Batch
	first, n int32
	// Rows and Headers are set if the reply is to have them.
	Rows, Headers bool
}

// ask appends the ops of a command that asks by rules to the batch. It returns the number
// of its Ask, from 1 on. All databases share the counters of rules, those in database 0.
func (s *Session) ask(c *Spec, args [][]byte) (number int32, err error) {
	g := s.g
	n := len(g.asks)
	if n < cap(g.asks) {
		g.asks = g.asks[:n+1]
	} else {
		g.asks = append(g.asks, Ask{})
	}
	a := &g.asks[n]
	a.Rows, a.Headers, a.retry = false, false, nil
	a.check.Share(&g.memory)
	if err = c.Asks.Parse(a, &g.request, args); err == nil {
		err = s.h.appendCheck(&g.batch, &a.check, &g.request)
	}
	return int32(n + 1), err
}

// askedBy returns the request of an item, which it parses again. It is valid until the next
// call.
func (g *pendingBatch) askedBy(it *item) *checks.Request {
	it.spec.Asks.Parse(&g.asks[it.ask-1], &g.request, it.args) // without an error, as before
	return &g.request
}

// appendCheck appends the ops for a request, by the rules of now.
func (h *Handler) appendCheck(b *engine.Batch, c *checks.Check, q *checks.Request) error {
	var (
		state = h.config.Rules.Current()
		now   engine.Instant
	)
	if state.Overrides.Len() > 0 { // they alone depend on the time
		now = h.config.Clock.Now()
	}
	first := len(b.Ops)
	err := c.Append(b, state, now, q)
	if err == nil && q.Once != nil {
		reservations.Wrap(b, first, q.Once, q.OnceFor, q.Hash())
	}
	if err == nil && q.Reserve != nil {
		if t, ok := c.Reserves(q); ok {
			reservations.Reserve(b, first, q.Reserve, t)
		}
	}
	if err == nil && c.BadAddresses() > 0 {
		h.audit.badAddresses(state.Set.Domain(string(q.Domain)), q)
	}
	return err
}

// decided returns the ops and the decisions of an item, which are in the session's batch
// from index first on, or in the batch of a retry.
func (g *pendingBatch) decided(it *item, first int) ([]engine.Op, []engine.Decision) {
	b, n := &g.batch, int(it.ops)
	if it.ask > 0 {
		if a := &g.asks[it.ask-1]; a.retry != nil {
			b, first, n = a.retry, int(a.first), int(a.n)
		}
	}
	return b.Ops[first : first+n], b.Decisions[first : first+n]
}

// outdated yields the items that the engine refused because the rules have changed since
// their ops were made.
func (g *pendingBatch) outdated(yield func(*item) bool) {
	first := 0
	for i := range g.items {
		it := &g.items[i]
		if it.ask > 0 && it.err == nil {
			ops, ds := g.decided(it, first)
			if isOnce(ops) && ds[0].Status == engine.OK && g.readOnce(it, ops) == nil {
				ds = g.once.Decisions
			}
			if anyIs(ds, engine.Stale) && !yield(it) {
				return
			}
		}
		first += int(it.ops)
	}
}

// complete writes the replies of the completed batch and of a deferred run command. It
// returns false if requests of the batch are being decided again.
func (s *Session) complete() bool {
	s.noteLookups()
	for s.failRetry(); !s.tx.begun && s.isOutdated(); s.failRetry() {
		if !s.decideAgain() {
			return false
		}
	}
	if s.tx.reads && !s.tx.begun && s.err == nil && !s.askFresh() {
		return false
	}
	return s.isSettled() && s.render()
}

// failRetry turns the error of a batch that decided some requests again into the error of these
// requests only. The other commands keep the decisions of the first batch.
func (s *Session) failRetry() {
	if s.err == nil || s.g == nil || s.g.retried == nil {
		return
	}
	for i := range s.g.items {
		if it := &s.g.items[i]; it.ask > 0 && s.g.asks[it.ask-1].retry == s.g.retried {
			it.err = s.err
		}
	}
	s.err = nil
}

// isOutdated reports whether some request of the completed batch must be decided again.
func (s *Session) isOutdated() bool {
	g := s.g
	if g == nil || len(g.asks) == 0 || s.err != nil || g.attempts == maxAsks {
		return false
	}
	if g.attempts == 0 && len(g.batch.Calls) == 0 && !anyIs(g.batch.Decisions, engine.Stale) {
		return false
	}
	for range g.outdated {
		return true
	}
	return false
}

// decideAgain waits for the rules of the engine, and at its next call decides the outdated
// requests of the batch by them. It reports whether it is done; if not, Wake will be called.
func (s *Session) decideAgain() bool {
	g := s.g
	s.state.Store(executing)
	if g.awaited = !g.awaited; g.awaited {
		s.h.awaitRules(g.attempts, func() { s.done(nil) })
		return !s.state.CompareAndSwap(executing, away)
	}
	g.attempts++
	g.retried = s.askAgain()
	s.h.executor.Do(g.retried, s.done)
	return !s.state.CompareAndSwap(executing, away)
}

// awaitRules calls done, from any goroutine, when the attempt with a number may be made again
// by newer rules. The first time that is when the rules of this node's engine are compiled;
// then the engine itself is older than the leader's, and it waits for a time: all attempts
// together for about a second.
func (h *Handler) awaitRules(attempt int, done func()) {
	if attempt == 0 {
		h.config.Rules.Await(done)
		return
	}
	pause := min(time.Millisecond<<(attempt-1), 100*time.Millisecond)
	time.AfterFunc(pause, func() { h.config.Rules.Await(done) })
}

// waitForRules waits until the attempt with a number may be made again, see awaitRules. c waits for
// nothing else.
func (h *Handler) waitForRules(ctx context.Context, c *backend.Caller, attempt int) error {
	h.awaitRules(attempt, func() { c.Answer(nil) })
	return c.Wait(ctx)
}

// askAgain makes a batch of the outdated requests. The decisions on all other requests stay,
// so that an outdated request of a transaction is decided after the rest of the transaction.
func (s *Session) askAgain() *engine.Batch {
	b := &engine.Batch{Features: s.h.config.Cluster.Features()}
	for it := range s.g.outdated {
		a := &s.g.asks[it.ask-1]
		first := len(b.Ops)
		if it.err = s.h.appendCheck(b, &a.check, s.g.askedBy(it)); it.err == nil {
			a.retry, a.first, a.n = b, int32(first), int32(len(b.Ops)-first)
		}
	}
	return b
}

// answerAsk writes the reply to an item that asks by rules, and returns its outcome.
func (s *Session) answerAsk(it *item, ops []engine.Op, ds []engine.Decision) Outcome {
	if ds[0].Status == engine.Stale { // then all are
		s.w.Error(errRulesChange)
		return WasError
	}
	a := &s.g.asks[it.ask-1]
	answer, err := a.check.Answer(ops, ds)
	if err != nil {
		s.w.Error(err)
		return WasError
	}
	it.spec.Asks.Reply(&s.w, a, answer, &s.g.headers)
	if len(answer.Closed) > 0 {
		s.h.audit.closed(s.g.askedBy(it), answer.Closed, s.account.Name(), s.client.Addr)
	}
	if s.h.config.Events != nil {
		if all := a.check.AppendEvents(nil, answer, ops, ds); len(all) > 0 {
			s.h.config.Events.Note(all, func() *rules.Request { return &s.g.askedBy(it).Request })
		}
	}
	return outcomeBy(&a.check, answer, ds)
}
