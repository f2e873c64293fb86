package checks

import (
	"strings"

	"limitsrv/commands/calls"
	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/source"
	"limitsrv/engine"
	"limitsrv/engine/answer"
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
	reply  reservations.Reply
}

// NewSimulator returns a simulator without counters, at an instant.
func NewSimulator(set *rules.Set, now engine.Instant) *Simulator {
	return &Simulator{Now: now, engine: engine.New(engine.Options{Shards: 1, Commands: calls.Commands}),
		state: live.NewState(set, live.Options{})}
}

// Ask decides a request. The error is from Check.Append or Check.Answer; nothing was
// counted. The answer is valid until the next request.
func (s *Simulator) Ask(q *Request) (*Answer, error) {
	s.check.Release()
	s.batch.Reset()
	if err := s.check.Append(&s.batch, s.state, s.Now, q); err != nil {
		return nil, err
	}
	ops, ds, err := s.decide(q)
	if err != nil {
		return nil, err
	}
	a, err := s.check.Answer(ops, ds)
	s.check.memory.Count()
	return a, err
}

// decide applies the request that Ask has appended, and reserves it if it has Reserve. The ops and decisions are
// valid until the next request.
func (s *Simulator) decide(q *Request) ([]engine.Op, []engine.Decision, error) {
	if t, ok := s.check.Reserves(q); ok && q.Reserve != nil {
		reservations.Reserve(&s.batch, 0, q.Reserve, t)
	}
	s.engine.Apply(s.Now, &s.batch)
	if len(s.batch.Calls) == 0 {
		return s.batch.Ops, s.batch.Decisions, nil
	}
	if err := s.reply.Read(&s.batch.Calls[0]); err != nil {
		return nil, nil, err
	}
	if s.reply.Repeated {
		s.check.Repeats()
	}
	return s.reply.Ops, s.reply.Decisions, nil
}

// A Settled is the answer to an extension, a commit or a cancel.
type Settled struct {
	Done       bool
	State      string // "unknown" for an unknown id
	N          int64
	WaitMillis int64
}

// Settle applies the call that build appends: reservations.Extend, Commit or Cancel. It returns an error if the
// call answers with an error.
func (s *Simulator) Settle(build func(b *engine.Batch)) (x Settled, err error) {
	s.batch.Reset()
	build(&s.batch)
	s.engine.Apply(s.Now, &s.batch)
	v, rest, _ := answer.Next(s.batch.Calls[0].Answer)
	switch v.Kind {
	case answer.NilArray:
		return Settled{State: "unknown"}, nil
	case answer.Error:
		code, text, _ := strings.Cut(string(v.Bytes), " ")
		return x, resp.NewError(code, text)
	}
	done, rest, _ := answer.TakeInt(rest)
	state, rest, _ := answer.TakeBulk(rest)
	x.Done, x.State = done == 1, string(state)
	x.N, rest, _ = answer.TakeInt(rest)
	x.WaitMillis, _, _ = answer.TakeInt(rest)
	return x, nil
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
