package session

import (
	"fmt"
	"slices"

	"limitsrv/commands/resp"
	"limitsrv/engine"
)

// Answers are as long as values, and are not known before a command is executed. So a session
// remembers whether its last answers were long. While they were, or are not known yet, or the room
// of all answers is full, it is careful: a command that writes begins a new batch if commands that
// read are before it, so that these can be executed again, and so does a command that takes values
// or runs a script if another one is before it.
const (
	// longAnswers is the size in bytes from which the answers of a batch are long. While
	// the room is full, a session with short or unknown answers may have so many.
	longAnswers = 64 << 10
	// batchAnswers bounds the answers of a batch in bytes.
	batchAnswers = 32 << 20
	// pauseBytes is the output, in bytes, that is sent before a session begins another batch.
	pauseBytes = 256 << 10
)

// kindOf returns the kind of the answer of a line with so many words.
func (c *Command) kindOf(words int) answerKind {
	switch {
	case c.Long == 0 || words < c.Long:
		return always
	case c.Flags&Runs != 0:
		return running
	case !c.Flags.MayWrite():
		return reading
	}
	return taking
}

// careful reports whether batches are split, see longAnswers.
func (s *Session) careful() bool { return s.answers != short || s.h.room.Full() }

// splits reports whether a command must begin a new batch. Requires: the
// tally of the batch has some.
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

// execBounded executes a batch with answers that may be long: now, or when there is room.
func (s *Session) execBounded() {
	b, t := &s.g.batch, &s.g.tally
	full, looks := s.h.room.Full(), b.Looks()
	b.AnswerMost = s.client.OutputBytes
	enters := s.answers == long || full && t[taking] > 0 ||
		s.answers == unknown && (t[taking] > 0 || s.tx.running || !b.Stale && !s.h.config.Cluster.Leads())
	switch {
	case enters || s.tx.running:
		b.AnswerBytes = engine.MaxAnswerBytes
	case full || looks && s.answers == unknown:
		b.AnswerBytes = longAnswers
	default:
		b.AnswerBytes = batchAnswers
	}
	if looks && enters {
		b.Atomic = true // in the order of the commands: the first are answered, and no others
	}
	switch {
	case !enters:
		s.h.exec(b, s.done)
	case s.h.room.take(engine.MaxAnswerBytes):
		s.reserved.Store(engine.MaxAnswerBytes)
		s.h.exec(b, s.done)
	default:
		s.h.room.await(engine.MaxAnswerBytes, func() { s.h.config.Spawn(s.enter) })
	}
}

// enter executes the batch of a session for which there is room now.
func (s *Session) enter() {
	s.reserved.Store(engine.MaxAnswerBytes)
	if s.state.Load() == closed {
		s.leave()
		s.done(errClosed)
		return
	}
	s.h.exec(&s.g.batch, s.done)
	s.h.Commit()
}

// mayBegin reports whether a run command may begin: unless its answer may be long, and the room is
// full. Then the session is in the state away until there is room.
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

// queuedLong reports whether a command executes queued ones with answers that may be long.
func (s *Session) queuedLong(c *Spec) bool {
	return c.Flags&Executes != 0 && slices.ContainsFunc(s.tx.queue, func(q queued) bool { return q.spec.Long > 0 })
}

// leave gives back the room of a batch: its answers are in the output, or the session is closed.
func (s *Session) leave() {
	if s.reserved.Load() > 0 {
		s.h.room.Add(-s.reserved.Swap(0))
	}
}

// remember notes the answers of a batch. bytes is the size of its replies.
func (s *Session) remember(g *pendingBatch, bytes int) {
	if !g.tally.any() {
		return
	}
	s.answers = short
	if g.batch.Held || bytes >= longAnswers {
		s.answers = long
	}
}

// Errors of commands in a batch with too many answers.
var (
	errClosed  = resp.NewError("ERR", "the connection is closed")
	errNotRead = resp.NewError("ERR", fmt.Sprintf(
		"the answers of a pipeline, or of a transaction, with commands that change data have at most %d bytes together: this command was not executed; send fewer at a time", batchAnswers))
	errLost = resp.NewError("ERR", fmt.Sprintf(
		"the answers of a pipeline, or of a transaction, have at most %d bytes together, and at most %d while clients leave many unread: this command was executed, and its answer is lost",
		batchAnswers, longAnswers))
)

// isHeld reports whether an item of the completed batch has no answer. ops are its own.
func (s *Session) isHeld(it *item, ops []engine.Op) bool {
	return it.err == nil && it.spec.Reply == nil && it.spec.Told == nil && len(s.g.batch.Calls[ops[len(ops)-1].N].Answer) == 0
}

// answerHeld answers an item that has no answer, and is not executed again.
func (s *Session) answerHeld(c *Spec) {
	if c.Flags.MayWrite() {
		s.w.Error(errLost)
		return
	}
	s.w.Error(errNotRead)
}

// holds keeps the items from the i-th on, if it has no answer and they only read, to be executed
// again when the output has been written. It reports false if they are to be answered.
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

// A heldLine is a command line that is executed when the output before it has been written.
type heldLine struct {
	args [][]byte // nil: it was rejected
	err  error    // of a rejected one
}

// hold keeps a copy of a command line, or the error of one that was rejected.
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

// Paused reports whether the session has accepted commands that it executes only when the output
// has been written. The caller must write it, and then call Continue.
func (s *Session) Paused() bool { return len(s.held) > 0 }

// Continue executes the commands that Paused reports, or some of them. It returns false if a batch
// is in flight, as Flush does.
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
