package simtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"limitsrv/commands/rules/live"
	"limitsrv/engine"
)

// sample is the number of calls per key given to Porcupine.
const sample = 200

// Forever is the period of limits that regain nothing during a run.
const Forever = engine.MaxPeriod

// Window is a limit with keys that are used only by Takes.
var Window = engine.Params{Alg: engine.Log, Limit: 5, Period: int64(10 * time.Second)}

// Limits regain tokens. They are of every algorithm.
var Limits = []engine.Params{
	{Alg: engine.Token, Limit: 5, Count: 1, Period: int64(2 * time.Second)},
	{Alg: engine.Token, Limit: 20, Count: 1, Period: int64(time.Second)},
	{Alg: engine.Leaky, Limit: 5, Count: 1, Period: int64(time.Second)},
	{Alg: engine.Fixed, Limit: 10, Period: int64(time.Minute)},
	{Alg: engine.Fixed, Limit: 100, Calendar: engine.Day},
	{Alg: engine.Slide, Limit: 10, Period: int64(time.Minute)},
	{Alg: engine.Log, Limit: 10, Period: int64(time.Minute)},
	{Alg: engine.Lease, Limit: 3, Period: int64(30 * time.Second)},
	Window,
}

// A Workload makes the ops of clients, on keys of Limits and on counters: keys of limits
// that regain nothing. Concurrency: a caller's mutex must guard it.
type Workload struct {
	made     int
	counters [3]struct {
		key         string
		limit, left int64 // left: calls until another key is used, so that Porcupine can check them
	}
	plain, admitted [3]slot
	deck            []int // the next makers
	sent            []onceSent
	reserved        []onceSent
	ruledSent       []onceSent
	newest, older   *live.State // by which nodes decided last, and before
	// Known is set by the clients from answers to earlier calls.
	Known Known
}

// Known are the versions of the rules in use and of their documents, and the rules by which the client's
// node decides. State is nil if the client sends no requests by rules.
type Known struct {
	Rules, Documents uint64
	State            *live.State
}

// A slot is a number without an expiry that is used until it has been used often.
type slot struct {
	key   string
	db    uint8
	limit int64
	left  int
}

// next counts another use of a slot. After too many uses the slot gets a new number.
func (s *slot) next(w *Workload, rng *rand.Rand, prefix string) {
	if s.left == 0 {
		w.made++
		*s = slot{fmt.Sprint(prefix, w.made), uint8(rng.IntN(3)), 20 + rng.Int64N(200), sample * 3 / 4}
	}
	s.left--
}

// Counter returns an op on a counter.
func (w *Workload) Counter(rng *rand.Rand) engine.Op {
	slot := &w.counters[rng.IntN(len(w.counters))]
	if slot.left == 0 {
		w.made++
		slot.key, slot.limit, slot.left = fmt.Sprint("counter:", w.made), 20+rng.Int64N(200), sample*3/4
	}
	slot.left--
	p := engine.Params{Alg: engine.Fixed, Limit: slot.limit, Period: Forever}
	return engine.Op{Key: []byte(slot.key), N: rng.Int64N(5), Params: p}
}

// Retire makes later calls use other counters.
func (w *Workload) Retire() {
	for i := range w.counters {
		w.counters[i].left = 0
	}
	for i := range w.plain {
		w.plain[i].left, w.admitted[i].left = 0, 0
	}
}

// NewKey returns a key that was never used.
func (w *Workload) NewKey() []byte {
	w.made++
	return fmt.Appendf(nil, "limit:new:%d", w.made)
}

// Request returns the request of a call.
func (w *Workload) Request(rng *rand.Rand) (r Request) {
	if rng.IntN(8) == 0 {
		r.window(rng)
		return r
	}
	for range 1 + rng.IntN(4) {
		switch rng.IntN(14) {
		case 0, 1:
			r.Ops = append(r.Ops, w.Counter(rng))
		case 2, 3:
			r.Ops = append(r.Ops, limited(rng))
		case 4:
			w.count(&r, rng)
		case 5:
			w.admit(&r, rng)
		case 6, 7, 8:
			w.every(&r, rng)
		case 9:
			w.once(&r, rng)
		case 10:
			w.reserve(&r, rng)
		case 11, 12:
			w.ruled(&r, rng)
		default:
			r.plain(rng)
		}
	}
	r.Atomic = rng.IntN(4) == 0
	return r
}

// limited returns an op on a key of Limits.
func limited(rng *rand.Rand) engine.Op {
	which := rng.IntN(len(Limits))
	p := Limits[which]
	op := engine.Op{Key: fmt.Appendf(nil, "limit:%d:%d", which, rng.IntN(3)), N: 1 + rng.Int64N(3), Params: p}
	if p.Alg == engine.Token || p == Window { // their checks support no other limits
		return op
	}
	kind := rng.IntN(20)
	switch {
	case p.Alg == engine.Lease:
		op.Kind, op.N = engine.Acquire, 1
	case kind == 0:
		op.Kind, op.Params = engine.Forget, engine.Params{}
	case kind == 1:
		op.Kind, op.Params = engine.Refund, engine.Params{}
	case kind == 2:
		op.Kind = engine.Charge
	case kind == 3:
		op.Mode = engine.Partial
	case kind == 4:
		op.N = 0
	}
	return op
}
