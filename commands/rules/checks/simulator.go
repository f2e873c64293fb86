package checks

import (
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// A Simulator decides requests by rules on an engine of its own, without a server, for tests
// of rules. Concurrency: not safe for concurrent use.
type Simulator struct {
	// Now is the instant of the next request. It must not go back.
	Now    engine.Instant
	engine *engine.Engine
	state  *live.State
	check  Check
	batch  engine.Batch
}

// NewSimulator returns a simulator without counters, at an instant.
func NewSimulator(set *rules.Set, now engine.Instant) *Simulator {
	return &Simulator{Now: now, engine: engine.New(engine.Options{Shards: 1}), state: live.NewState(set, live.Options{})}
}

// Ask decides a request. The error is from Check.Append or Check.Answer; nothing was
// counted. The answer is valid until the next request.
func (s *Simulator) Ask(q *Request) (*Answer, error) {
	s.check.Release()
	s.batch.Reset()
	if err := s.check.Append(&s.batch, s.state, s.Now, q); err != nil {
		return nil, err
	}
	s.engine.Apply(s.Now, &s.batch)
	a, err := s.check.Answer(s.batch.Ops, s.batch.Decisions)
	s.check.memory.Count()
	return a, err
}

// Override sets or drops an override, as RL.OVERRIDE does. An error means a mistake in it, and
// changes nothing.
func (s *Simulator) Override(from *source.CaseOverride) error {
	v := rules.Override{Domain: from.Domain, Rule: from.Rule, Limit: from.Limit}
	for _, a := range from.Path {
		v.Path = append(v.Path, rules.Attribute{Key: a.Key, Value: a.Value})
	}
	if from.TTL > 0 {
		v.Until = s.Now + engine.Instant(from.TTL)
	}
	drop := false
	switch from.Effect {
	case "allow":
		v.Effect = rules.Allow
	case "deny":
		v.Effect = rules.Deny
	case "limit":
		v.Effect = rules.Replace
	case "drop": // of any effect
		if drop, v.Effect = true, rules.Deny; v.Rule != "" {
			v.Effect, v.Limit = rules.Replace, "none"
		}
	}
	v, err := s.state.Set.Spell(v)
	if err != nil {
		return resp.Expose(err)
	}
	made, err := rules.NewOverride(v)
	if err == nil && !drop {
		_, err = s.state.Set.Reach(made)
	}
	if err != nil {
		return resp.Expose(err)
	}
	if drop {
		s.state.Overrides = s.state.Overrides.Without(made)
	} else {
		s.state.Overrides = s.state.Overrides.With(made)
	}
	return nil
}
