package session

import (
	"context"
	"fmt"
	"slices"

	"limitsrv/commands/backend"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/commands/waiting"
	"limitsrv/internal/fatal"
)

// A deferredReply is the pending reply of a run command that continues in another goroutine. The
// session is in the state away meanwhile, as it is while a batch is in flight.
type deferredReply struct {
	spec   *Spec
	args   [][]byte
	write  func(*resp.Writer)
	cancel func() // cancels the work; nil: it runs to its end
}

// Defer lets a run command reply after its Run has returned. start begins the work. It
// must call done exactly once, from any goroutine, and returns a function that cancels the
// work when the session ends, or nil if the work runs to its end. If start returns an
// error, that is the reply and done is never called. write writes the reply if done was
// called with nil. In a transaction, which can not wait, the reply is an error and nothing
// begins.
func (s *Session) Defer(start func(done func(error)) (cancel func(), err error), write func(*resp.Writer)) {
	if s.tx.running {
		s.w.Error(errNoMulti)
		return
	}
	s.state.Store(executing)
	cancel, err := start(s.done)
	if err != nil {
		s.state.Store(idle)
		s.w.Error(err)
		return
	}
	s.deferred = &deferredReply{write: write, cancel: cancel}
}

// abandon cancels the pending reply, and the login of an EXEC.
func (s *Session) abandon() {
	if s.tx.cancelLogin != nil {
		s.tx.cancelLogin()
	}
	if s.deferred != nil && s.deferred.cancel != nil {
		s.deferred.cancel()
	}
	s.deferred = nil
	if s.fresh.cancel != nil {
		s.fresh.cancel()
	}
}

// finishDeferred writes the pending reply of a run command.
func (s *Session) finishDeferred() {
	l := s.deferred
	s.abandon()
	s.begin()
	from, failed := len(s.w.Buf), s.w.Failed
	if s.err != nil {
		s.w.Error(s.err)
	} else {
		l.write(&s.w)
	}
	s.finish(l.spec, l.args, from, failed)
	s.end()
	s.began = 0
}

// holdBack reports whether a command must wait for the end of CLIENT PAUSE; then the
// session is in the state away.
func (s *Session) holdBack(c *Spec) bool {
	if c.Flags&spec.Unpaused != 0 {
		return false
	}
	if !s.flush() {
		return true
	}
	park := func() {
		s.state.Store(away)
		s.began = 0
	}
	return s.h.pause.holds(s.writes(c), park, s.done)
}

const (
	// maxWaitKeys bounds the keys that a client waits for.
	maxWaitKeys  = 1024
	fewWaitBytes = 16 << 10 // see sharedMemory.refuses
	bytesPerWait = 256      // for each word of a command that waits
)

var (
	errAllWaits = resp.NewError("ERR",
		fmt.Sprintf("too many keys to wait for: the keys of all clients together may take %d bytes", maxShared))
	errWaitMany  = resp.NewError("ERR", fmt.Sprintf("too many keys to wait for: at most %d", maxWaitKeys))
	errUnblocked = resp.NewError("UNBLOCKED", "client unblocked via CLIENT UNBLOCK")
)

// wait carries out a command that may wait. Requires: no command is gathered.
func (s *Session) wait(c *Spec, args [][]byte) {
	s.last.Store(c)
	s.start()
	s.feedMonitors(c, args)
	s.endCaching()
	timeout, err := c.Wait.Timeout(args)
	if k := c.positions(args); err == nil && k.Last-k.First >= maxWaitKeys {
		err = errWaitMany
	}
	memory := int64(0)
	for _, arg := range args {
		memory += int64(len(arg)) + bytesPerWait
	}
	if err == nil && s.h.waitBytes.refuses(memory, fewWaitBytes) {
		err = errAllWaits
	}
	if err != nil {
		s.writeReply(c, args, func() { s.w.Error(err) })
		return
	}
	w := &waiting.Client{Command: c.Wait, DB: s.db, Wake: s.client.Wake}
	for _, arg := range args {
		w.Words = append(w.Words, slices.Clone(arg))
	}
	w.Keys = c.KeysOf(w.Words)
	s.waiter.Store(w)
	s.waitBytes.set(&s.h.waitBytes, memory)
	s.h.waiting.Join(w, timeout)
	s.finishWait()
}

// finishWait writes the reply of the command that waits, if a command waits and it has a
// reply.
func (s *Session) finishWait() {
	w := s.waiter.Load()
	if w == nil {
		return
	}
	answer, err, over := s.h.waiting.Reply(w)
	if !over {
		s.began = 0
		return
	}
	s.waiter.Store(nil)
	s.waitBytes.set(&s.h.waitBytes, 0)
	s.writeReply(s.last.Load(), w.Words, func() {
		switch {
		case err != nil:
			s.w.Error(err)
		case answer == nil:
			s.w.NullArray()
		default:
			s.w.Answer(answer)
		}
	})
}

// writeReply writes and counts the reply of a command that may wait.
func (s *Session) writeReply(c *Spec, args [][]byte, write func()) {
	s.begin()
	from, failed := len(s.w.Buf), s.w.Failed
	write()
	s.finish(c, args, from, failed)
	s.end()
	s.began = 0
}

// Waits reports whether a command waits until other clients have added elements, so that no
// further command is accepted. It ends in Resume. Any goroutine may call it.
func (s *Session) Waits() bool { return s.waiter.Load() != nil }

// Unblock is CLIENT UNBLOCK: it ends the waiting command of a session, with nil or with an
// error, and reports whether a command was waiting. Any goroutine may call it.
func (h *Handler) Unblock(id int64, withError bool) bool {
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s == nil {
		return false
	}
	w := s.waiter.Load()
	if w == nil {
		return false
	}
	if withError {
		return h.waiting.End(w, errUnblocked)
	}
	return h.waiting.End(w, nil)
}

// Waiting returns the number of clients that wait for elements.
func (h *Handler) Waiting() int64 { return h.waiting.Waiting() }

// A freshness is the state of a Cluster.Fresh call for a run command, see spec.Command.Fresh.
type freshness struct {
	asked bool // Fresh was called; it is complete unless the session is away
	err   error
	// lines are to be answered by another node; replies are its replies that are not written yet.
	lines   []backend.Line
	replies [][]byte
	cancel  context.CancelFunc // ends the question to another node; nil: there was none
}

// Always is a spec.Command.Fresh for commands that always read state that all nodes share.
func Always([][]byte) bool { return true }

// reads reports whether a run command requires a Cluster.Fresh call.
func (s *Session) reads(c *Spec, args [][]byte) bool {
	if s.h.AtFront() && (c.Front != spec.FrontRuns || c.Fresh != nil && s.stale) {
		return c.Fresh == nil || c.Fresh(args)
	}
	return c.Fresh != nil && (!s.stale || c.Flags.MayWrite()) && c.Fresh(args)
}

// freshen reports whether a run command may begin. It returns false while the state that the
// command reads may be older than an answer of another node; the session is then in the state away.
func (s *Session) freshen(c *Spec, args [][]byte) bool {
	if !s.reads(c, args) {
		return true
	}
	if s.asks(c) && !s.fresh.asked {
		s.fresh.lines = []backend.Line{s.lineOf(args)}
		s.trackRun(c, args)
	}
	return s.askFresh()
}

// askFresh calls Cluster.Fresh, unless it did so before, and reports whether the call is complete.
// If it returns false, the session is in the state away and Wake will be called.
func (s *Session) askFresh() bool {
	defer fatal.OnPanic() // Rules.Await reads the engine
	if s.fresh.asked {
		return true
	}
	s.fresh.asked = true
	s.state.Store(executing)
	s.fetchFresh()
	if s.state.CompareAndSwap(executing, away) {
		s.began = 0
		return false
	}
	s.state.CompareAndSwap(arrived, idle)
	return true
}

// runFresh runs a command, or writes the error of its Cluster.Fresh call.
func (s *Session) runFresh(c *Spec, args [][]byte) {
	err, fetched := s.fresh.err, s.fresh.replies
	if s.asks(c) && len(fetched) > 0 {
		s.w.Reply(fetched[0])
		s.fresh.replies = fetched[1:]
	}
	if !s.tx.running {
		s.fresh = freshness{}
	}
	switch {
	case s.asks(c) && len(fetched) > 0:
	case err != nil && s.reads(c, args):
		s.w.Error(err)
	default:
		c.Run(s, &s.w, args)
	}
}
