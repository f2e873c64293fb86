package simtest

import (
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
	// rememberID is longer than all jumps of clocks together.
	rememberID = 1000 * time.Hour
)

// A onceSent is a request with an id that clients repeat, whether it was answered or not.
type onceSent struct {
	number   int
	op       engine.Op
	reserved bool // by rules, at least once
}

// once adds a Take with an id: a new request, or a recent request again.
func (w *Workload) once(r *Request, rng *rand.Rand) {
	x := w.sendAgain(&w.sent, oncePrefix, rng)
	r.once(0, fmt.Append(nil, onceID, x.number), x.number, x.op)
}

// sendAgain returns one of the recent requests, or adds a new request, with a counter that has the prefix.
func (w *Workload) sendAgain(recent *[]onceSent, prefix string, rng *rand.Rand) *onceSent {
	at := rng.IntN(recentIDs + recentIDs/2)
	if at >= len(*recent) {
		w.made++
		op := engine.Op{Key: fmt.Append(nil, prefix, w.made/perCounter), N: 1 + rng.Int64N(9),
			Params: engine.Params{Alg: engine.Fixed, Limit: onceLimit, Period: Forever}}
		*recent = append(*recent, onceSent{number: w.made, op: op})
		*recent = (*recent)[max(0, len(*recent)-recentIDs):]
		at = len(*recent) - 1
	}
	return &(*recent)[at]
}

// once adds ops, which are one request with a hash, with an id.
func (r *Request) once(db uint8, id []byte, hash int, ops ...engine.Op) {
	b := engine.Batch{Ops: slices.Clone(ops)}
	reservations.Wrap(&b, 0, id, int64(rememberID), uint64(hash))
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
