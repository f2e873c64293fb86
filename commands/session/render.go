package session

import (
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/internal/invariants"
)

// ErrDown answers commands that were not decided because there is no quorum.
var ErrDown = resp.NewError("CLUSTERDOWN", "the cluster has no leader with a quorum")

// render writes the replies of the completed batch and of a deferred run command, if there are any,
// and prepares the session for the next batch. It returns false if replies are left; the session is
// then in the state away.
func (s *Session) render() bool {
	if s.deferred != nil {
		s.finishDeferred()
	}
	if s.g != nil {
		s.begin()
		from := len(s.w.Buf)
		if !s.tx.running {
			s.renderItems()
		} else if !s.renderExec() {
			s.end()
			s.pause()
			return false
		}
		s.remember(s.g, len(s.w.Buf)-from)
		s.end()
		s.giveBack()
	}
	s.leave()
	s.err = nil
	s.state.CompareAndSwap(arrived, idle)
	if invariants.Enabled {
		s.checkState("all replies are written", idle, closed)
		if s.Pending() > 0 {
			invariants.Violated("all replies are written, and %d are pending", s.Pending())
		}
	}
	s.sayFatal()
	return true
}

// renderItems answers the commands of a pipeline.
func (s *Session) renderItems() {
	done := 0
	calls := runLength{counts: s.stats, each: s.chargeBatchTime()}
	for i := range s.g.items {
		if s.g.batch.Held && s.holds(i, done) {
			break
		}
		it := &s.g.items[i]
		from := len(s.w.Buf)
		s.answer(it, done, &calls)
		done += int(it.ops)
		s.suppress(from)
	}
	calls.flush()
	if calls.last == nil {
		return
	}
	if s.last.Load() != calls.last {
		s.last.Store(calls.last)
	}
}

// chargeBatchTime returns each gathered command's share of the batch's time, in
// nanoseconds, and logs the commands as slow if the share is long.
func (s *Session) chargeBatchTime() int64 {
	took := s.touch()
	s.began += took
	s.countWaits(took)
	each := took / int64(len(s.g.items))
	if each >= s.h.slow.least.Load() {
		for i := range s.g.items {
			if it := &s.g.items[i]; it.spec != nil {
				s.logSlow(it.spec, it.args, each)
			}
		}
	}
	return each
}

// answer writes the reply of an item with ops from index first on.
func (s *Session) answer(it *item, first int, calls *runLength) {
	if it.spec == nil {
		if it.err == nil {
			s.w.Simple("QUEUED")
			return
		}
		s.w.Error(it.err)
		return
	}
	failed, outcome := s.w.Failed, looked
	switch {
	case it.err != nil:
		s.w.Error(it.err)
	case s.err != nil:
		s.w.Error(s.err)
	default:
		ops, ds := s.g.decided(it, first)
		if anyIs(ds, engine.Down) {
			s.w.Error(ErrDown)
			break
		}
		if it.ask == 0 && it.spec.Reply == nil {
			s.answerCall(it.spec, &s.g.batch.Calls[ops[len(ops)-1].N], calls)
			break
		}
		if isOnce(ops) {
			outcome = s.answerOnce(it, ops)
			break
		}
		if it.ask > 0 {
			outcome = s.answerAsk(it, ops, ds)
			break
		}
		it.spec.Reply(&s.w, ops, ds)
		switch {
		case it.spec.Flags&spec.Decides != 0:
			outcome = outcomeOf(ops, ds)
		case it.spec.Flags&spec.ReadOnly != 0:
			calls.countHits(it.spec, ds)
		}
	}
	calls.add(it.spec, s.w.Failed != failed, outcome)
}

// answerCall writes the answer of a call. An empty answer means that it did not fit into the batch.
func (s *Session) answerCall(spec *Spec, c *engine.Call, calls *runLength) {
	if len(c.Answer) == 0 {
		s.answerHeld(spec)
		return
	}
	if reply := s.g.takeAhead(c); reply != nil && s.limitedTo(spec) == nil {
		s.w.Take(reply)
	} else {
		s.w.Answer(s.visible(spec, c.Answer))
	}
	if c.ReadOnly {
		calls.countValues(spec, c.Answer)
	}
}

// anyIs reports whether one of the decisions has the status.
func anyIs(ds []engine.Decision, status engine.Status) bool {
	for i := range ds {
		if ds[i].Status == status {
			return true
		}
	}
	return false
}

// A rendering is the progress of answering an EXEC.
type rendering struct {
	begun bool
	from  int   // the start of its reply in Out
	took  int64 // nanoseconds for the batch
	item  int   // the next item to answer; its first op is ops[done]
	done  int
}

const (
	// execTurn is how long, in nanoseconds, the run commands of a transaction run before other
	// clients get a turn. A transaction of at most execFew commands runs for execLong before. Each
	// byte of the reply written so far adds a nanosecond, because a turn copies the reply.
	execTurn = int64(time.Millisecond)
	execFew  = 16
	execLong = 20 * execTurn
)

// renderExec answers a transaction. It runs the run commands after all ops, and writes each reply
// in the place of its command. It returns false if commands are left; call it again for them.
func (s *Session) renderExec() bool {
	r := &s.tx.rendering
	if !r.begun {
		*r = rendering{begun: true, from: len(s.w.Buf), took: s.touch(), done: s.tx.expects}
		s.began = 0
		s.countWaits(r.took)
	}
	ds := s.g.batch.Decisions
	switch {
	case s.err != nil:
		s.w.Error(s.err)
	case anyIs(ds, engine.Down):
		s.w.Error(ErrDown)
	case anyIs(ds, engine.Aborted):
		s.w.NullArray()
	default:
		if r.item == 0 {
			s.w.Array(len(s.g.items))
			s.mute(r.from)
		}
		if !s.renderExecuted(r) {
			return false
		}
		r.from = len(s.w.Buf)
	}
	s.stats[s.last.Load().ID].took(1, r.took) // for EXEC, the last command
	if r.took >= s.h.slow.least.Load() {
		s.logSlow(s.last.Load(), [][]byte{[]byte(s.last.Load().Name)}, r.took)
	}
	from := r.from
	s.endTransaction()
	s.suppress(from)
	return true
}

// renderExecuted answers at least one item of a transaction. It returns false if items are left.
func (s *Session) renderExecuted(r *rendering) bool {
	until := s.h.sinceStart() + execTurn + int64(len(s.w.Buf)-r.from)
	if len(s.g.items) <= execFew {
		until += execLong - execTurn
	}
	calls := runLength{counts: s.stats, each: r.took / int64(max(1, len(s.g.items)))}
	defer calls.flush()
	for first := r.item; r.item < len(s.g.items); r.item++ {
		it := &s.g.items[r.item]
		at := len(s.w.Buf)
		switch {
		case it.spec.HasOps() || it.err != nil:
			s.answer(it, r.done, &calls)
			r.done += int(it.ops)
		case len(s.w.Buf)-r.from > engine.MaxAnswerBytes:
			s.w.Error(errNotRead)
		case r.item > first && s.h.sinceStart() >= until:
			return false
		default:
			failed := s.w.Failed
			s.runFresh(it.spec, it.args)
			s.countFailure(it.spec, failed)
			s.stats[it.spec.ID].took(1, calls.each)
		}
		s.mute(at)
	}
	return true
}

// pause lets other sessions run before the rest of an EXEC is answered. The session is in the state
// away until its transport resumes it.
func (s *Session) pause() {
	s.state.Store(away)
	s.h.config.Spawn(func() { s.done(nil) })
}

// Replies is the state of CLIENT REPLY.
type Replies uint8

const (
	RepliesOn  Replies = iota
	RepliesOff         // CLIENT REPLY OFF: no replies
	SkipReply          // CLIENT REPLY SKIP runs: no reply to it, nor to the next command
	skipNext           // no reply to the next command
)

// mutes reports whether CLIENT REPLY suppresses the reply of the current command.
func (s *Session) mutes() bool { return s.replies == RepliesOff || s.replies == skipNext }

// mute removes the reply that starts at offset from, if CLIENT REPLY suppresses it.
func (s *Session) mute(from int) {
	if s.mutes() {
		s.w.Buf = s.w.Buf[:from]
	}
}

// suppress truncates the reply of a command at its start, from, if CLIENT REPLY suppresses
// it.
func (s *Session) suppress(from int) {
	switch s.replies {
	case RepliesOff:
		s.w.Buf = s.w.Buf[:from]
	case SkipReply: // CLIENT REPLY SKIP itself writes nothing
		s.replies = skipNext
	case skipNext:
		s.w.Buf = s.w.Buf[:from]
		s.replies = RepliesOn
	}
}

// start sets began, unless a timed batch or command directly precedes.
func (s *Session) start() {
	if s.began == 0 {
		s.began = s.h.sinceStart()
	}
}

// countWaits records the latency of the batch for each of its ops.
func (s *Session) countWaits(nanos int64) {
	n := int64(len(s.g.batch.Ops))
	if n == 0 {
		return
	}
	if s.g.batch.Slow {
		s.dearUntil = s.active.Load() + int64(dearFor)
	}
	if s.dearUntil > 0 && s.dearUntil > s.active.Load() {
		s.h.stats.dear.Add(n)
	}
	s.h.stats.waits[s.id%stripes].Add(time.Duration(nanos), n)
}

// touch sets active to now and returns the nanoseconds since began, 0 if that is not set.
func (s *Session) touch() (took int64) {
	now := s.h.sinceStart()
	s.active.Store(now)
	if s.began > 0 {
		took = now - s.began
	}
	return took
}
