package checks

import (
	"limitsrv/commands/rules"
	"limitsrv/engine"
)

// An EventKind is a threshold that a request reached.
type EventKind uint8

const (
	// NearEvent means that the use of a limit is above its warn_at.
	NearEvent EventKind = iota
	// ExhaustedEvent means that a limit denied.
	ExhaustedEvent
	// BlockedEvent means that a penalty box closed.
	BlockedEvent
	EventKinds
)

// String returns the word of a kind in events.
func (k EventKind) String() string { return [...]string{"near", "exhausted", "blocked"}[k] }

// An Event tells that a limit, or a penalty box, with the word events is beyond a threshold after a
// request. Every request beyond the threshold of a limit has the event again. Its pointers and bytes
// are valid as long as the Answer.
type Event struct {
	Kind EventKind
	// Key is the key of the counter or of the box.
	Key        []byte
	Rule       *rules.Rule
	Descriptor int // of the request
	// Limit is nil for a box.
	Limit *rules.Limit
	// Row is the state of the limit. For a box, it has the name of the rule, and the time until the
	// box opens as ResetMillis.
	Row
	Level int64 // of the box, from 1 on; 0 for a limit
}

// AppendEvents appends the events of an answer. ops and ds are the ops and the decisions that Answer
// had. A limit in shadow, a limit of 0, a look, a request that acted before and a decision without a
// quorum have no events.
func (c *Check) AppendEvents(dst []Event, a *Answer, ops []engine.Op, ds []engine.Decision) []Event {
	if c.peek || c.repeats {
		return dst
	}
	for i := range a.Rows {
		m := &a.Met[i]
		if !m.hasEvents || m.Mode == rules.Shadow || m.Limit.None {
			continue
		}
		op, d, r := &ops[m.op], &ds[m.op], &a.Rows[i]
		if d.NoQuorum || d.Params.Limit == 0 || !c.takes(op, m) {
			continue
		}
		e := Event{Key: op.Key, Rule: m.Rule, Descriptor: int(m.Descriptor), Limit: m.Limit, Row: *r}
		if m.Limit.Quota-r.Remaining > m.Limit.NearAbove {
			dst = append(dst, e)
		}
		if e.Kind = ExhaustedEvent; !r.Allowed {
			dst = append(dst, e)
		}
	}
	for i := range a.Closed {
		if b := &a.Closed[i]; b.Rule.Penalty.Events {
			dst = append(dst, Event{Kind: BlockedEvent, Key: b.Key, Rule: b.Rule, Descriptor: b.Descriptor, Level: b.Level,
				Row: Row{WaitMillis: b.Millis, ResetMillis: b.Millis, Name: b.Rule.Name}})
		}
	}
	return dst
}

// takes reports whether an op of the request adds to the use of a limit, if it is allowed.
func (c *Check) takes(op *engine.Op, m *Met) bool {
	if c.settles {
		return op.Kind == engine.Charge
	}
	return c.hitsOf(m) > 0
}
