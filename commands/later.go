package commands

// A later is the reply of a run command that others are working on. The session
// is away meanwhile, as it is while they work on a batch.
type later struct {
	spec   *spec
	args   [][]byte
	answer func(*Reply)
	cancel func() // has others end before their time; nil: they go on to the end
}

// deferReply is how a run command answers later. ask has others begin and call done
// once, from any goroutine, at its end; its error is the reply if they do not. answer
// writes the reply when done was told no error. Requires NoMulti.
func (s *Session) deferReply(ask func(done func(error)) error, answer func(*Reply)) {
	s.state.Store(executing)
	if err := ask(s.done); err != nil {
		s.state.Store(idle)
		s.w.Error(err)
		return
	}
	s.later = &later{answer: answer}
}

// abandon says that the session does not wait any more.
func (s *Session) abandon() {
	if s.later != nil && s.later.cancel != nil {
		s.later.cancel()
	}
	s.later = nil
}

// finishDeferred answers the run command that awaited.
func (s *Session) finishDeferred() {
	l := s.later
	s.abandon()
	s.begin()
	from, failed := len(s.w.buf), s.w.failed
	if s.err != nil {
		s.w.Error(s.err)
	} else {
		l.answer(&s.w)
	}
	s.finish(l.spec, l.args, from, failed)
	s.end()
	s.began = 0
}
