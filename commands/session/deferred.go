package session

import "limitsrv/commands/resp"

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

// abandon cancels the pending reply.
func (s *Session) abandon() {
	if s.deferred != nil && s.deferred.cancel != nil {
		s.deferred.cancel()
	}
	s.deferred = nil
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
