package simtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"limitsrv/commands/rules/stored"
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
	Asked   Coverage        // of the calls that were answered
	known   Known
	// holders are the leases that clients hold, by key. releases are the tags of the Releases, by
	// lease.
	holders  map[string][][]byte
	releases map[string][]byte
	Bounded  bool // a memory bound with eviction was set
	Faults   []string
	batch    engine.Batch
	// ruledSeen has the number of each outcome of calls on reservations by rules. Check sets it.
	ruledSeen map[string]int
}

// mostFaults bounds the reported faults.
const mostFaults = 10

// NewHistory returns an empty History that applies the log to an engine.
func NewHistory(e *engine.Engine) History {
	return History{Start: time.Now(), Engine: e, Evicted: map[string]bool{}, Asked: Coverage{},
		holders: map[string][][]byte{}, releases: map[string][]byte{}}
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
	Number int
	Node   string
	Request
	Called    time.Duration // since the start
	Outcome   Outcome
	Answered  time.Duration
	Decisions []engine.Decision // if answered
	Answers   []string          // if answered: of each op that is a Do
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
	Answer   string // if it is a Do
	// Rules are the versions of the documents of rules before and after its batch.
	Rules [2]uint64
	// It was decided between Called and Done: after a client's request and before a node
	// had applied it.
	Called, Done time.Duration

	of    *Call
	which int // of the ops of the call
}

// Fault records a fault. Requires: Mu is held.
func (h *History) Fault(format string, args ...any) {
	if len(h.Faults) < mostFaults {
		h.Faults = append(h.Faults,
			fmt.Sprintf("%v: ", time.Since(h.Start).Round(time.Millisecond))+fmt.Sprintf(format, args...))
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

// Begin records a call about to be made, with a copy of the request. In the copy each op
// has a tag that identifies it in the log.
func (h *History) Begin(node string, r Request) *Call {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	c := &Call{
		Number: len(h.Calls), Node: node, Request: r.clone(), Called: time.Since(h.Start), Outcome: Pending,
		Applied: make([]*Applied, len(r.Ops)),
	}
	for i := range c.Ops {
		// A tag is a valid age of a Refund.
		c.tag(i, binary.LittleEndian.AppendUint64(nil, uint64(c.Number*maxOps+i)))
		h.release(&c.Ops[i])
	}
	h.Calls = append(h.Calls, c)
	return c
}

// release makes a Release release a lease that a client holds, if there is a lease.
func (h *History) release(op *engine.Op) {
	held := h.holders[string(op.Key)]
	if op.Kind != engine.Release || len(held) == 0 {
		return
	}
	last := len(held) - 1
	h.releases[string(held[last])] = op.ID
	op.ID, h.holders[string(op.Key)] = held[last], held[:last]
}

// CheckAsked records a fault if no answered call had some member of Members.
func (h *History) CheckAsked() {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if missing := h.Asked.Missing(); len(missing) > 0 && len(h.Faults) == 0 {
		h.Fault("no call that was answered had %q", missing)
	}
}

// Known returns the newest versions of the rules and their documents that clients have received.
func (h *History) Known() Known {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	return h.known
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

// Finish records the end of a call; only the first time counts. b has the answers, if it was
// answered.
func (h *History) Finish(c *Call, outcome Outcome, b *engine.Batch) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if c.Outcome != Pending {
		return
	}
	c.Outcome, c.Answered = outcome, time.Since(h.Start)
	if outcome == Answered || outcome == NoQuorum {
		c.Decisions = slices.Clone(b.Decisions)
		for i := range c.Ops {
			c.Answers = append(c.Answers, answerOf(b, &c.Ops[i]))
			if op := &c.Ops[i]; op.Kind == engine.Acquire && op.N > 0 && b.Decisions[i].Allowed == 1 && !isGrouped(c.Ops, i) {
				h.holders[string(op.Key)] = append(h.holders[string(op.Key)], op.ID)
			}
		}
	}
	if outcome == Answered {
		h.Asked.Add(c.Batch())
		h.learn(b)
	}
}

// learn records the version of the rules in an answer.
func (h *History) learn(b *engine.Batch) {
	for i := range b.Calls {
		c := &b.Calls[i]
		if a, err := stored.ReadLoad(c.Answer); err == nil && stored.CallName(c.Command) == loadRules {
			h.known.Rules = a.Version
		}
	}
}

// isGrouped reports whether op i is a member of a group.
func isGrouped(ops []engine.Op, i int) bool {
	for from := 0; from <= i; from++ {
		if ops[from].IsGroup() && i < from+int(ops[from].Group) {
			return true
		}
	}
	return false
}

// Apply applies the next batch of the log, finds the calls of its ops, and returns its own
// batch with the answers, valid until the next Apply. Requires: Mu is held.
func (h *History) Apply(index uint64, stamp engine.Instant, b *engine.Batch) *engine.Batch {
	h.batch.Reset()
	h.batch.Ops = append(h.batch.Ops, b.Ops...)
	h.batch.CopyCalls(b, func(arg []byte) []byte { return arg })
	h.batch.Atomic, h.batch.Full, h.batch.Tight, h.batch.Level = b.Atomic, b.Full, b.Tight, b.Level
	before := h.Engine.DocumentsVersion(engine.Rules)
	h.Engine.Apply(stamp, &h.batch)
	h.known.Documents = h.Engine.DocumentsVersion(engine.Rules)
	for i := range b.Ops {
		op := &b.Ops[i]
		if h.Bounded && op.Kind == engine.Forget && len(op.ID) == 0 {
			h.Evicted[string(op.Key)] = true
			continue
		}
		if op.Kind == engine.Learn {
			continue
		}
		tag := tagOf(b, op)
		if released := h.releases[string(op.ID)]; op.Kind == engine.Release && released != nil {
			tag = released
		}
		if len(tag) != tagBytes {
			h.Fault("entry %d has an op that no call requested: %s", index, Text(b.Ops[i:i+1], b.Calls))
			continue
		}
		number := int(binary.LittleEndian.Uint64(tag))
		c, which := h.Calls[number/maxOps], number%maxOps
		if c.Atomic && (!b.Atomic || len(b.Ops) != c.logged() && !h.ChangesOnly) {
			h.Fault("call %d was to be applied at once, and was part of %s", c.Number, Text(b.Ops, b.Calls))
		}
		if had := c.Applied[which]; had != nil {
			h.Fault("call %d was applied in entry %d, and again in %d", c.Number, had.Index, index)
			continue
		}
		c.Applied[which] = &Applied{
			Index: index, Position: len(h.Ops), Stamp: h.Engine.Now(), Op: &c.Ops[which], Decision: h.batch.Decisions[i],
			Answer: answerOf(&h.batch, op), Rules: [2]uint64{before, h.known.Documents},
			Called: c.Called, Done: time.Since(h.Start), of: c, which: which,
		}
		h.Ops = append(h.Ops, *c.Applied[which])
	}
	return &h.batch
}

// Rewind removes the ops after the first n, because their entries are lost, and returns
// their calls. The caller must set Engine to the state before them. Requires: Mu is held.
func (h *History) Rewind(n int) (calls []*Call) {
	for i := range h.Ops[n:] {
		a := &h.Ops[n+i]
		a.of.Applied[a.which] = nil
		calls = append(calls, a.of)
	}
	h.Ops = h.Ops[:n]
	return calls
}
