package session

// A freshness is the state of the question whether this node has every change that any node has
// answered, see Command.Fresh.
type freshness struct {
	asked bool // and answered, once the session is not away
	err   error
}

// Always is the Command.Fresh of a command of which each line reads the state of all nodes.
func Always([][]byte) bool { return true }

// reads reports whether a run command needs a question.
func (s *Session) reads(c *Spec, args [][]byte) bool {
	return c.Fresh != nil && (!s.stale || c.Flags.MayWrite()) && c.Fresh(args)
}

// freshen reports whether a run command may begin: unless the state that it reads may be older than
// an answer. Then the session is in the state away until it is not.
func (s *Session) freshen(c *Spec, args [][]byte) bool {
	return !s.reads(c, args) || s.askFresh()
}

// askFresh asks, unless that was done, and reports whether the question is answered. If not, Wake
// will be called.
func (s *Session) askFresh() bool {
	if s.fresh.asked {
		return true
	}
	s.fresh.asked = true
	s.state.Store(executing)
	s.h.config.Cluster.Fresh(func(err error) {
		if s.fresh.err = err; err != nil {
			s.done(nil)
			return
		}
		s.h.config.Rules.Await(func() { s.done(nil) })
	})
	if s.state.CompareAndSwap(executing, away) {
		s.began = 0
		return false
	}
	s.state.CompareAndSwap(arrived, idle)
	return true
}

// runFresh runs a command, or writes the error of the question that it needed.
func (s *Session) runFresh(c *Spec, args [][]byte) {
	err := s.fresh.err
	if !s.tx.running {
		s.fresh = freshness{}
	}
	if err != nil && s.reads(c, args) {
		s.w.Error(err)
		return
	}
	c.Run(s, &s.w, args)
}
