package session

import (
	"fmt"
	"slices"

	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// An answer can be as long as a value, and its length is unknown until the command is executed. So
// a session remembers whether the answers of its last batch were long. If they were, if they are
// not known yet, or if the Room is full, the session splits batches:
//
//   - a command that may write begins a new batch if the batch has a command that only reads, so
//     that the reads can be executed again;
//   - a command that removes values or runs a script, with an answer that may be long, begins a new
//     batch if the batch has another command of those kinds.
const (
	// longAnswers is the least size of long answers of a batch, in bytes. It also bounds the
	// answers of a batch that begins without a reservation while the Room is full.
	longAnswers = 64 << 10
	// batchAnswers bounds the answers of a batch in bytes.
	batchAnswers = 32 << 20
	// pauseBytes is the size of the output, in bytes, that must be sent before the next batch
	// begins.
	pauseBytes = 256 << 10
)

// kindOf returns the answerKind of a command line with this number of words.
func (c *Spec) kindOf(words int) answerKind {
	switch {
	case c.Long == 0 || words < c.Long:
		return always
	case c.Flags&spec.Runs != 0:
		return running
	case !c.Flags.MayWrite():
		return reading
	}
	return taking
}

// careful reports whether the session splits batches. See longAnswers.
func (s *Session) careful() bool { return s.answers != short || s.h.room.Full() }

// splits reports whether c must begin a new batch. words is the number of words of its line.
// Requires: s.g.tally.any().
func (s *Session) splits(c *Spec, words int) bool {
	t := &s.g.tally
	switch {
	case !c.Flags.MayWrite() || s.tx.running:
		return false
	case t[reading] >= batchWeight:
		return true
	case t[reading] > 0:
		return s.careful()
	}
	return c.kindOf(words) != always && s.careful()
}

// mayEnter bounds the answers of the pending batch. If they may be long, it reserves
// engine.MaxAnswerBytes of the Room. If the Room is full, it returns false, and enter executes the
// batch later.
func (s *Session) mayEnter() bool {
	b, t := &s.g.batch, &s.g.tally
	if s.answered >= dearAnswers { // the next answers may be as long
		b.Slow, b.Work = true, max(b.Work, int64(s.answered/bytesPerWork))
	}
	full, looks := s.h.room.Full(), b.Looks()
	b.AnswerMost = s.client.OutputBytes
	enters := s.answers == long || full && t[taking] > 0 ||
		s.answers == unknown && (t[taking] > 0 || s.tx.running || !b.Stale && !s.h.config.Cluster.Leads())
	switch {
	case enters || s.tx.running:
		b.AnswerBytes = engine.MaxAnswerBytes
	case full || looks && s.answers == unknown && t[running] == 0: // a run is not executed again
		b.AnswerBytes = longAnswers
	default:
		b.AnswerBytes = batchAnswers
	}
	if looks && enters {
		b.Atomic = true // once an answer does not fit, no later command is answered
	}
	if !enters {
		return true
	}
	if !s.h.room.take(engine.MaxAnswerBytes) {
		s.h.room.await(engine.MaxAnswerBytes, func() { s.h.config.Spawn(s.enter) })
		return false
	}
	s.reserved.Store(engine.MaxAnswerBytes)
	return true
}

// enter executes the pending batch after the Room has reserved its bytes.
func (s *Session) enter() {
	s.reserved.Store(engine.MaxAnswerBytes)
	if s.state.Load() == closed {
		s.leave()
		s.done(errClosed)
		return
	}
	s.h.executor.Do(&s.g.batch, s.done)
}

// mayBegin reports whether a run command may begin. It returns false if the answer may be long and
// the Room is full; the session is then in the state away until there is room.
func (s *Session) mayBegin(c *Spec) bool {
	if !s.h.room.Full() || s.reserved.Load() > 0 || c.Long == 0 && !s.queuedLong(c) {
		return true
	}
	s.state.Store(away)
	s.began = 0
	s.h.room.await(engine.MaxAnswerBytes, func() {
		s.reserved.Store(engine.MaxAnswerBytes)
		if s.state.Load() == closed {
			s.leave()
		}
		s.done(nil)
	})
	return false
}

// queuedLong reports whether c executes a transaction that has a command with an answer that may be
// long.
func (s *Session) queuedLong(c *Spec) bool {
	return c.Flags&spec.Executes != 0 && slices.ContainsFunc(s.tx.queue, func(q queued) bool { return q.spec.Long > 0 })
}

// leave releases the reservation of a batch. Requires: its answers are in the output, or the
// session is closed.
func (s *Session) leave() {
	if s.reserved.Load() > 0 {
		s.h.room.Add(-s.reserved.Swap(0))
	}
}

// remember records whether the answers of a batch were long. bytes is the size of its replies.
func (s *Session) remember(g *pendingBatch, bytes int) {
	if !g.tally.any() {
		return
	}
	s.answers, s.answered = short, bytes
	if g.batch.Held || bytes >= longAnswers {
		s.answers = long
	}
}

// Errors of commands in a batch with too many answers.
var (
	errClosed  = resp.NewError("ERR", "the connection is closed")
	errNotRead = resp.NewError("ERR", fmt.Sprintf(
		"the answers of a pipeline, or of a transaction, with commands that change data have at most %d bytes together: "+
			"this command was not executed; send fewer at a time", batchAnswers))
	errLost = resp.NewError("ERR", fmt.Sprintf(
		"the answers of a pipeline, or of a transaction, have at most %d bytes together, and at most %d while clients "+
			"leave many unread: this command was executed, and its answer is lost",
		batchAnswers, longAnswers))
)

// isHeld reports whether an item of the completed batch has no answer because the answers of the
// batch were too long. ops are the ops of that item.
func (s *Session) isHeld(it *item, ops []engine.Op) bool {
	return it.err == nil && it.spec.Reply == nil && it.spec.Asks == nil &&
		len(s.g.batch.Calls[ops[len(ops)-1].N].Answer) == 0
}

// answerHeld writes the error for an item without an answer that can not be executed again.
func (s *Session) answerHeld(c *Spec) {
	if c.Flags.MayWrite() {
		s.w.Error(errLost)
		return
	}
	s.w.Error(errNotRead)
}

// holds reports whether item i of the completed batch and all later items must be executed again.
// They must if item i has no answer and none of these commands may write. holds then queues their
// lines until the output has been written. first is the index of the first op of item i.
func (s *Session) holds(i, first int) bool {
	g := s.g
	it := &g.items[i]
	if it.spec == nil || s.err != nil || !s.isHeld(it, g.batch.Ops[first:first+int(it.ops)]) {
		return false
	}
	for j := i; j < len(g.items); j++ {
		if c := g.items[j].spec; c != nil && c.Flags.MayWrite() {
			return false
		}
	}
	later := s.held
	s.held = nil
	for _, it := range g.items[i:] {
		s.hold(it.args, it.err)
	}
	s.held = append(s.held, later...)
	return true
}

// A heldLine is a command line that waits until the earlier output has been written.
type heldLine struct {
	args [][]byte // nil: the line was rejected
	err  error    // the error of a rejected line
}

// hold queues a copy of a command line, or the error of a rejected line (args is nil).
func (s *Session) hold(args [][]byte, rejected error) {
	if args == nil {
		s.held = append(s.held, heldLine{err: rejected})
		return
	}
	words := make([][]byte, len(args))
	for i, arg := range args {
		words[i] = slices.Clone(arg)
	}
	s.held = append(s.held, heldLine{args: words})
}

// pauses reports whether the output must be written before the next batch.
func (s *Session) pauses() bool { return len(s.held) > 0 || len(s.Out) >= pauseBytes }

// Paused reports whether the session holds accepted commands until its output has been written. The
// caller must write the output and then call Continue.
func (s *Session) Paused() bool { return len(s.held) > 0 }

// Continue executes held commands. If Paused still reports true afterwards, the caller must write
// the output and call Continue again. Like Flush, it returns false if a batch is in flight.
func (s *Session) Continue() bool {
	lines := s.held
	s.held = nil
	s.again = true
	defer func() { s.again = false }()
	for i := range lines {
		line := &lines[i]
		if line.args == nil {
			s.add(item{err: line.err})
		} else if !s.Do(line.args) {
			s.held = append(s.held, lines[i:]...)
			return false
		}
		done := s.Pending() < batchWeight || s.Flush()
		if !done || len(s.held) > 0 {
			s.held = append(s.held, lines[i+1:]...)
			return done
		}
	}
	return s.Flush()
}
