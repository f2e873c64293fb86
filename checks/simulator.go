package checks

import (
	"limitsrv/engine"
	"limitsrv/rules"
	"limitsrv/ruleset"
)

// A Simulator decides requests by rules on an engine of its own, without a server, for tests
// of rules. Concurrency: one goroutine at a time.
type Simulator struct {
	// Now is the instant of the next request. It must not go back.
	Now    engine.Instant
	engine *engine.Engine
	state  *ruleset.State
	check  Check
	batch  engine.Batch
}

// NewSimulator returns a simulator without counters, at an instant.
func NewSimulator(set *rules.Set, now engine.Instant) *Simulator {
	return &Simulator{Now: now, engine: engine.New(engine.Options{Shards: 1}), state: ruleset.NewState(set)}
}

// Ask decides a request. The error is that of Check.Append or Check.Answer; nothing was
// counted. The answer is valid until the next request.
func (s *Simulator) Ask(q *Request) (*Answer, error) {
	s.check.Release()
	s.batch.Reset()
	if err := s.check.Append(&s.batch, s.state, s.Now, q); err != nil {
		return nil, err
	}
	s.engine.Apply(s.Now, &s.batch)
	return s.check.Answer(s.batch.Ops, s.batch.Decisions)
}
