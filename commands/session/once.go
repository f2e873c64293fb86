package session

import (
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// isOnce reports whether the ops of an item of a command with its own reply are a call that carries out
// the ops of the command once, see reservations.Wrap.
func isOnce(ops []engine.Op) bool { return ops[0].Kind == engine.Do }

// readOnce reads the answer of a call of isOnce into g.once. An error is an *resp.Error.
func (g *pendingBatch) readOnce(it *item, ops []engine.Op) error {
	b := &g.batch
	if it.ask > 0 && g.asks[it.ask-1].retry != nil {
		b = g.asks[it.ask-1].retry
	}
	c := b.CallOf(&ops[0])
	if len(c.Answer) == 0 {
		return errLost
	}
	return g.once.Read(c)
}

// answerOnce writes the reply to an item with the option ONCE, and returns its outcome.
func (s *Session) answerOnce(it *item, ops []engine.Op) (o Outcome) {
	x := &s.g.once
	if err := s.g.readOnce(it, ops); err != nil {
		s.w.Error(err)
		return WasError
	}
	defer x.Release()
	switch {
	case it.ask > 0:
		if x.Repeated {
			s.g.asks[it.ask-1].check.Repeats()
		}
		o = s.answerAsk(it, x.Ops, x.Decisions)
	default:
		it.spec.Reply(&s.w, x.Ops, x.Decisions)
		if o = looked; it.spec.Flags&spec.Decides != 0 {
			o = outcomeOf(x.Ops, x.Decisions)
		}
	}
	if x.Repeated && o != WasError {
		return WasRepeated
	}
	return o
}
