package simtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"limitsrv/commands/reservations"
	"limitsrv/engine"
)

const (
	// oncePrefix is the prefix of counters that are used only with ids, and onceID of these ids.
	oncePrefix = "once:"
	onceID     = "id:"
	// onceLimit is never reached.
	onceLimit = 1_000_000
	// perCounter is about the number of requests of a counter: with few, most counters have only
	// requests that no lost entry and no eviction concerns.
	perCounter = 20
	// recentIDs is the number of requests with ids that clients repeat.
	recentIDs = 6
)

// A onceSent is a request with an id that clients repeat, whether it was answered or not.
type onceSent struct {
	number int
	op     engine.Op
}

// once adds a Take with an id: a new request, or a recent request again.
func (w *Workload) once(r *Request, rng *rand.Rand) {
	at := rng.IntN(recentIDs + recentIDs/2)
	if at >= len(w.sent) {
		w.made++
		op := engine.Op{Key: fmt.Append(nil, oncePrefix, w.made/perCounter), N: 1 + rng.Int64N(9),
			Params: engine.Params{Alg: engine.Fixed, Limit: onceLimit, Period: Forever}}
		w.sent = append(w.sent, onceSent{w.made, op})
		w.sent = w.sent[max(0, len(w.sent)-recentIDs):]
		at = len(w.sent) - 1
	}
	x := &w.sent[at]
	r.once(0, fmt.Append(nil, onceID, x.number), x.number, x.op)
}

// once adds ops, which are one request with a hash, with an id.
func (r *Request) once(db uint8, id []byte, hash int, ops ...engine.Op) {
	b := engine.Batch{Ops: slices.Clone(ops)}
	reservations.Wrap(&b, 0, id, int64(time.Hour), uint64(hash))
	r.call(db, func(c *engine.Call) { *c = b.Calls[0] })
}

// everyOnce adds requests of every form with one of a few ids, so that they repeat and collide.
func (w *Workload) everyOnce(r *Request, rng *rand.Rand) {
	take, charge, back := everyTake(rng), everyTake(rng), everyTake(rng)
	charge.Kind, charge.Mode = engine.Charge, engine.Fit
	back.Kind, back.Mode, back.Params = engine.Refund, engine.Fit, engine.Params{}
	some := [][]engine.Op{{take}, {charge}, {back}, {everyTake(rng), everyTake(rng)},
		{w.needs(), everyTake(rng)}, {w.needs(), charge, {Kind: engine.Peek, Key: back.Key}}}
	form := rng.IntN(len(some))
	for i := range some[form] {
		if op := &some[form][i]; op.Kind != engine.Needs {
			op.DB = 0
		}
	}
	r.once(uint8(rng.IntN(6)/5), fmt.Append(nil, everyPrefix, onceID, rng.IntN(9)), form, some[form]...)
}

// readOnce reads op i of a call, with its answer if it was answered. It returns the id; nil if the op is
// no call of once.
func (h *History) readOnce(c *Call, i int, reply *reservations.Reply) (id []byte) {
	op := &c.Ops[i]
	if op.Kind != engine.Do || !bytes.HasPrefix(c.Calls[op.N].Args[0], []byte(onceID)) {
		return nil
	}
	bare := untagged(&c.Calls[op.N])
	if bare.Answer = nil; c.Outcome == Answered {
		bare.Answer = []byte(c.Answers[i])
	}
	if err := reply.Read(bare); err != nil && c.Outcome == Answered {
		h.Fault("call %d with id %s was answered with %v", c.Number, bare.Args[0], err)
		return nil
	}
	return bare.Args[0]
}

// checkOnce finds requests with ids that acted not at all although they were answered, or more than
// once although they were delivered often.
func (h *History) checkOnce() {
	type state struct {
		key      string
		n        int64
		answered bool
	}
	ids, lacks := map[string]*state{}, map[string]bool{}
	var reply reservations.Reply
	for _, c := range h.Calls {
		for i := range c.Ops {
			name := h.readOnce(c, i, &reply)
			if name == nil {
				continue
			}
			id, op := string(name), &reply.Ops[0]
			key := string(op.Key)
			lacks[key] = lacks[key] || c.MayLack || h.Evicted[key] || h.Evicted[id]
			if c.Outcome == Refused {
				continue
			}
			s := ids[id]
			if s == nil {
				s = &state{key: key, n: op.N}
				ids[id] = s
			}
			if c.Outcome != Answered {
				continue
			}
			switch d := &reply.Decisions[0]; {
			case d.Status == engine.OK && d.Allowed == 1:
				s.answered = true
			case d.Status != engine.NoMemory:
				h.Fault("call %d with id %s was answered %+v", c.Number, id, *d)
			}
		}
	}
	given, unknown := map[string]int64{}, map[string]int64{}
	for _, s := range ids {
		if s.answered {
			given[s.key] += s.n
		} else {
			unknown[s.key] += s.n
		}
	}
	for key, lack := range lacks {
		if used := h.used(key, onceLimit); !lack && (used < given[key] || used > given[key]+unknown[key]) {
			h.Fault("of %s %d are used at the end, requests with ids were given %d and perhaps %d", key, used, given[key],
				unknown[key])
		}
	}
}
