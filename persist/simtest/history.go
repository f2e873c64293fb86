package simtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"limitsrv/engine"
)

// A History is the clients' calls and answers, and the ops of the log, which it applies to
// an engine of its own.
type History struct {
	// ChangesOnly: the log lacks ops that changed no state.
	ChangesOnly bool

	Mu      sync.Mutex // guards all below
	Start   time.Time
	Calls   []*Call
	Engine  *engine.Engine
	Ops     []Applied // in the order of the log
	Watched []Watched
	Evicted map[string]bool // keys evicted because of the memory bound
	Bounded bool            // a memory bound with eviction was set
	Faults  []string
	batch   engine.Batch
}

// mostFaults bounds the reported faults.
const mostFaults = 10

// NewHistory returns an empty History that applies the log to an engine.
func NewHistory(e *engine.Engine) History {
	return History{Start: time.Now(), Engine: e, Evicted: map[string]bool{}}
}

// An Outcome is a client's knowledge of its call.
type Outcome string

const (
	Pending  Outcome = "pending"
	Answered Outcome = "answered"
	Refused  Outcome = "refused" // not applied, and never will be
	Unknown  Outcome = "unknown" // may be applied, even later
	NoQuorum Outcome = "alone"   // answered without a majority, and not applied
)

// A Call is a batch submitted by a client.
type Call struct {
	Number    int
	Node      string
	Ops       []engine.Op
	Atomic    bool
	Called    time.Duration // since the start
	Outcome   Outcome
	Answered  time.Duration
	Decisions []engine.Decision // if answered
	Applied   []*Applied        // for each op; nil: it was not applied
	// MayLack: the log may lack it although it was answered.
	MayLack bool
}

// logged returns the number of its ops in the log: Expects are not.
func (c *Call) logged() (n int) {
	for i := range c.Ops {
		if c.Ops[i].Kind != engine.Expect {
			n++
		}
	}
	return n
}

// An Applied is an op that was applied.
type Applied struct {
	Index    uint64
	Position int            // of the op in the log
	Stamp    engine.Instant // the engine's time
	Op       *engine.Op     // as requested
	Decision engine.Decision
	// It was decided between Called and Done: after a client's request and before a node
	// had applied it.
	Called, Done time.Duration
}

// Fault records a fault. Requires: Mu is held.
func (h *History) Fault(format string, args ...any) {
	if len(h.Faults) < mostFaults {
		h.Faults = append(h.Faults, fmt.Sprintf("%v: ", time.Since(h.Start).Round(time.Millisecond))+fmt.Sprintf(format, args...))
	}
}

// Failed reports whether a fault was found.
func (h *History) Failed() bool {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	return len(h.Faults) > 0
}

// maxOps bounds the ops of a call.
const maxOps = 64

// Begin records a call about to be made. Each op gets an ID that identifies it in the log.
func (h *History) Begin(node string, ops []engine.Op, atomic bool) *Call {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	c := &Call{
		Number: len(h.Calls), Node: node, Ops: ops, Atomic: atomic, Called: time.Since(h.Start), Outcome: Pending,
		Applied: make([]*Applied, len(ops)),
	}
	for i := range ops {
		ops[i].ID = binary.BigEndian.AppendUint64(nil, uint64(c.Number*maxOps+i))
	}
	h.Calls = append(h.Calls, c)
	return c
}

// Outcome returns the client's conclusion from the answer to a call.
func (h *History) Outcome(c *Call, err error) Outcome {
	var coded interface{ Code() string }
	switch {
	case err == nil:
		return Answered
	case !errors.As(err, &coded):
		h.Mu.Lock()
		defer h.Mu.Unlock()
		h.Fault("call %d was answered without a code: %v", c.Number, err)
		return Unknown
	case coded.Code() == "UNCERTAIN":
		return Unknown
	}
	return Refused
}

// Finish records the end of a call; only the first time counts.
func (h *History) Finish(c *Call, outcome Outcome, decisions []engine.Decision) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if c.Outcome != Pending {
		return
	}
	c.Outcome, c.Answered = outcome, time.Since(h.Start)
	if outcome == Answered || outcome == NoQuorum {
		c.Decisions = append([]engine.Decision(nil), decisions...)
	}
}

// Apply applies the next batch of the log, finds the calls of its ops, and returns the
// decisions, which are valid until the next Apply. Requires: Mu is held.
func (h *History) Apply(index uint64, stamp engine.Instant, b *engine.Batch) []engine.Decision {
	h.batch.Reset()
	h.batch.Ops, h.batch.Atomic, h.batch.Full = append(h.batch.Ops, b.Ops...), b.Atomic, b.Full
	h.Engine.Apply(stamp, &h.batch)
	for i := range b.Ops {
		op := &b.Ops[i]
		if h.Bounded && op.Kind == engine.Forget && len(op.ID) == 0 {
			h.Evicted[string(op.Key)] = true
			continue
		}
		if len(op.ID) != 8 {
			h.Fault("entry %d has an op that no call requested: %s", index, Text(b.Ops[i:i+1]))
			continue
		}
		c, which := h.callOf(op)
		if c.Atomic && (!b.Atomic || len(b.Ops) != c.logged() && !h.ChangesOnly) {
			h.Fault("call %d was to be applied at once, and was part of %s", c.Number, Text(b.Ops))
		}
		if had := c.Applied[which]; had != nil {
			h.Fault("call %d was applied in entry %d, and again in %d", c.Number, had.Index, index)
			continue
		}
		c.Applied[which] = &Applied{
			Index: index, Position: len(h.Ops), Stamp: h.Engine.Now(), Op: &c.Ops[which], Decision: h.batch.Decisions[i],
			Called: c.Called, Done: time.Since(h.Start),
		}
		h.Ops = append(h.Ops, *c.Applied[which])
	}
	return h.batch.Decisions
}

// callOf returns the call of an op, and which of its ops it is. Requires: op has an ID.
func (h *History) callOf(op *engine.Op) (c *Call, which int) {
	tag := int(binary.BigEndian.Uint64(op.ID))
	return h.Calls[tag/maxOps], tag % maxOps
}

// Rewind removes the ops behind the first n, because their entries are lost, and returns
// their calls. The caller must set Engine to the state before them. Requires: Mu is held.
func (h *History) Rewind(n int) (calls []*Call) {
	for i := range h.Ops[n:] {
		c, which := h.callOf(h.Ops[n+i].Op)
		c.Applied[which] = nil
		calls = append(calls, c)
	}
	h.Ops = h.Ops[:n]
	return calls
}

// Text formats ops.
func Text(ops []engine.Op) (text []string) {
	for i := range ops {
		text = append(text, fmt.Sprintf("kind %d of %s n=%d id=%x", ops[i].Kind, ops[i].Key, ops[i].N, ops[i].ID))
	}
	return text
}
