package engine_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/big"

	"limitsrv/engine"
)

// A model decides as an Engine must, written from the contract in the slowest and
// simplest way: without shards, cells, sweeps, or integers that could overflow. The
// Engine is compared with it.
type model struct {
	now  int64
	keys map[string]*modelKey
}

// A modelKey is a key with the parameters of its last use. Its state is permits, or for
// LEASE the ends of its holders by id.
type modelKey struct {
	p       engine.Params
	permits modelState
	holders map[string]int64
	box     *boxModel
}

// A modelState is the state of a key of an algorithm that grants permits. Its times never
// run backwards; p is the parameters of the last use.
type modelState interface {
	// used returns the permits that count against the limit at t, exactly.
	used(p engine.Params, t int64) *big.Rat
	// wait returns the ns from t until used + n <= bound holds without other requests.
	wait(p engine.Params, t, n, bound int64) *big.Int
	take(p engine.Params, t, n int64)
	refund(p engine.Params, t, n int64)
	// giveBack returns permits taken since or, if that is below 0, in the window in force, and
	// reports whether it returned any.
	giveBack(p engine.Params, t, since, n int64) bool
	// change converts the permits used under old to p.
	change(old, p engine.Params, t int64)
	clone() modelState
}

func newModel() *model { return &model{keys: map[string]*modelKey{}} }

// A reference is an algorithm that counts permits, as tests know it: a new state of its model, and the
// times when permits are earned.
type reference struct {
	state func() modelState
	earns earning
}

var references = map[engine.Alg]reference{
	engine.Token: {newBucket, continuously},
	engine.Leaky: {newBucket, continuously},
	engine.Fixed: {func() modelState { return &fixedModel{} }, inWindows},
	engine.Slide: {func() modelState { return &slideModel{} }, inWindows},
	engine.Log:   {func() modelState { return &logModel{} }, oneByOne},
}

// An earning says when permits are earned back.
type earning int

const (
	continuously earning = 1 + iota // at the rate
	inWindows                       // a limit in each window aligned to the epoch
	oneByOne                        // each a period after it was granted
)

// referenceOf returns the reference of an algorithm, which must be in references.
func referenceOf(a engine.Alg) reference {
	r, ok := references[a]
	if !ok {
		panic(fmt.Sprintf("engine/model_test.go: references has no line for %v", a))
	}
	return r
}

func (k *modelKey) clone() *modelKey {
	c := &modelKey{p: k.p, holders: maps.Clone(k.holders)}
	if k.box != nil {
		box := *k.box
		c.box = &box
	}
	if k.permits != nil {
		c.permits = k.permits.clone()
	}
	return c
}

// find returns the key, or nil if it is missing or expired.
func (t *model) find(key []byte) *modelKey {
	k := t.keys[string(key)]
	if k == nil {
		return nil
	}
	if k.permits != nil {
		if k.permits.used(k.p, t.now).Sign() > 0 {
			return k
		}
	}
	for _, end := range k.holders {
		if t.now < end {
			return k
		}
	}
	if k.box != nil && !k.box.isNew(t.now) {
		return k
	}
	delete(t.keys, string(key))
	return nil
}

// live returns the number of keys.
func (t *model) live() int {
	n := 0
	for key := range maps.Clone(t.keys) {
		if t.find([]byte(key)) != nil {
			n++
		}
	}
	return n
}

// apply applies a batch at now.
func (t *model) apply(now engine.Instant, ops []engine.Op) []engine.Decision {
	t.now = max(t.now, int64(now))
	var ds []engine.Decision
	for i := 0; i < len(ops); {
		if n := int(ops[i].Group); ops[i].IsGroup() {
			ds = append(ds, t.group(ops[i:i+n])...)
			i += n
			continue
		}
		ds = append(ds, t.one(&ops[i]))
		i++
	}
	return ds
}

// one applies an op without a group.
func (t *model) one(op *engine.Op) engine.Decision {
	k := t.find(op.Key)
	switch op.Kind {
	case engine.Take:
		return t.take(op)
	case engine.Acquire:
		if op.N == 0 {
			return t.member(op)
		}
		return t.acquire(op)
	case engine.Forget:
		delete(t.keys, string(op.Key))
		return engine.Decision{Allowed: yes(k != nil)}
	case engine.Flush:
		clear(t.keys)
		return engine.Decision{}
	case engine.Release:
		return t.release(op)
	}
	switch {
	case op.Kind == engine.Charge && op.N == 0 && op.Mode != 0 && op.Params != engine.Params{}:
		return t.lookUnder(op)
	case op.Kind == engine.Charge && op.N > 0 && op.Params != engine.Params{}:
		return t.chargeUnder(op)
	case k == nil:
		return engine.Decision{Status: engine.Missing}
	case op.Kind == engine.Peek:
		return t.look(k)
	case k.permits == nil, op.Params != engine.Params{} && op.Params.Alg != k.p.Alg:
		return engine.Decision{Status: engine.WrongType}
	case op.Kind == engine.Refund && op.N > 0 && op.Mode&(engine.Fit|engine.Partial) != 0:
		given := k.permits.giveBack(k.p, t.now, sinceOf(op, t.now), op.N)
		d := t.look(k)
		d.Allowed = yes(given)
		return d
	case op.Kind == engine.Refund:
		k.permits.refund(k.p, t.now, op.N)
		d := t.look(k)
		d.Allowed = 1
		return d
	case op.Kind == engine.Charge:
		return t.charge(k, op)
	}
	panic("unknown kind")
}

// take decides about n permits. A read-only take works on a copy that is discarded.
func (t *model) take(op *engine.Op) engine.Decision {
	p, n := op.Params, op.N
	k := t.find(op.Key)
	switch {
	case k == nil:
		k = &modelKey{p: p, permits: referenceOf(p.Alg).state()}
	case k.p.Alg != p.Alg:
		return engine.Decision{Status: engine.WrongType}
	}
	if n == 0 {
		k = k.clone()
	} else {
		t.keys[string(op.Key)] = k
	}
	k.change(p, t.now)

	d := engine.Decision{Params: p}
	grant := n
	if op.Mode&engine.Partial != 0 && n > 0 {
		grant = min(n, k.free(t.now))
	}
	switch {
	case n > 0 && grant == 0:
		d.Wait = span(k.permits.wait(p, t.now, 1, p.Limit))
	case n > 0 && !k.passes(t.now, grant, p.Limit):
		d.Wait = k.wait(t.now, n, p.Limit)
	default:
		d.Allowed = grant
		if op.Mode&engine.Partial == 0 || n == 0 {
			d.Allowed = 1
		}
		d.Wait = k.hold(t.now)
		k.permits.take(p, t.now, grant)
	}
	if op.Mode&engine.Shadow != 0 {
		d.Allowed = 1
	}
	if op.Mode&engine.Partial != 0 && (n == 0 || op.Mode&engine.Shadow != 0) {
		d.Allowed = n
	}
	d.Remaining, d.Reset = k.free(t.now), k.reset(t.now)
	return d
}

// look returns the state of a key, for a permit or a new holder.
func (t *model) look(k *modelKey) engine.Decision {
	d := engine.Decision{Params: k.p}
	switch k.p.Alg {
	case engine.Lease:
		return t.leaseDecision(k, 0)
	case engine.Box:
		return k.box.look(k.p, t.now)
	}
	if k.passes(t.now, 1, k.p.Limit) {
		d.Allowed = 1
		d.Wait = k.hold(t.now)
	} else {
		d.Wait = k.wait(t.now, 1, k.p.Limit)
	}
	d.Remaining, d.Reset = k.free(t.now), k.reset(t.now)
	return d
}

func (t *model) charge(k *modelKey, op *engine.Op) engine.Decision {
	d, n := engine.Decision{Params: k.p}, op.N
	if op.Mode != 0 && n > 0 {
		double := *k
		double.p.Limit = 2 * k.p.Limit
		n = min(n, double.free(t.now))
		k.permits.take(k.p, t.now, n)
		if d.Allowed = yes(n == op.N); op.Mode&engine.Partial != 0 {
			d.Allowed = n
		}
		d.Wait = k.wait(t.now, 0, k.p.Limit)
	} else if n == 0 || k.passes(t.now, n, 2*k.p.Limit) {
		d.Allowed = 1
		k.permits.take(k.p, t.now, n)
		d.Wait = k.wait(t.now, 0, k.p.Limit)
	} else {
		d.Wait = k.wait(t.now, n, 2*k.p.Limit)
	}
	d.Remaining, d.Reset = k.free(t.now), k.reset(t.now)
	return d
}

// chargeUnder carries out a charge with parameters.
func (t *model) chargeUnder(op *engine.Op) engine.Decision {
	k := t.find(op.Key)
	switch {
	case k == nil && (op.Params.Alg == engine.Lease || op.Params.Alg == engine.Box):
		return engine.Decision{Status: engine.WrongType}
	case k == nil:
		k = &modelKey{p: op.Params, permits: referenceOf(op.Params.Alg).state()}
	case k.p.Alg != op.Params.Alg || k.permits == nil:
		return engine.Decision{Status: engine.WrongType}
	}
	k.change(op.Params, t.now)
	d := t.charge(k, op)
	if d.Allowed == 1 || op.Mode != 0 {
		t.keys[string(op.Key)] = k
	}
	return d
}

// lookUnder carries out a charge of no permits with parameters.
func (t *model) lookUnder(op *engine.Op) engine.Decision {
	k := t.find(op.Key)
	switch {
	case k == nil && (op.Params.Alg == engine.Lease || op.Params.Alg == engine.Box):
		return engine.Decision{Status: engine.Missing}
	case k == nil:
		k = &modelKey{p: op.Params, permits: referenceOf(op.Params.Alg).state()}
	case k.p.Alg != op.Params.Alg || k.permits == nil:
		return engine.Decision{Status: engine.WrongType}
	}
	k = k.clone()
	k.change(op.Params, t.now)
	d := engine.Decision{Params: k.p, Allowed: yes(op.Mode&engine.Partial == 0)}
	d.Wait, d.Remaining, d.Reset = k.wait(t.now, 0, k.p.Limit), k.free(t.now), k.reset(t.now)
	return d
}

// sinceOf returns the earliest time of permits that a Refund returns, or -1.
func sinceOf(op *engine.Op, t int64) int64 {
	if len(op.ID) == 0 {
		return -1
	}
	return max(0, t-int64(binary.LittleEndian.Uint64(op.ID)))
}

// change sets new parameters.
func (k *modelKey) change(p engine.Params, t int64) {
	if p != k.p && k.permits != nil {
		k.permits.change(k.p, p, t)
	}
	k.p = p
}

func (k *modelKey) passes(t, n, bound int64) bool {
	sum := new(big.Rat).Add(k.permits.used(k.p, t), whole(n))
	return sum.Cmp(whole(bound)) <= 0
}

// free returns the number of whole permits left.
func (k *modelKey) free(t int64) int64 {
	left := new(big.Rat).Sub(whole(k.p.Limit), k.permits.used(k.p, t))
	if left.Sign() < 0 { // the amount is irrelevant, and may exceed an int64
		return 0
	}
	return floor(left).Int64()
}

// wait returns the time until n more permits stay within bound, or Never.
func (k *modelKey) wait(t, n, bound int64) engine.Span {
	if n > bound {
		return engine.Never
	}
	return span(k.permits.wait(k.p, t, n, bound))
}

// reset returns the time until no permits are used.
func (k *modelKey) reset(t int64) engine.Span { return span(k.permits.wait(k.p, t, 0, 0)) }

// hold returns how long an algorithm that holds permits delays a request.
func (k *modelKey) hold(t int64) engine.Span {
	if !k.p.Alg.Holds() {
		return engine.Span{}
	}
	return k.reset(t)
}

func longer(a, b engine.Span) bool {
	return a.Millis > b.Millis || a.Millis == b.Millis && a.Nanos > b.Nanos
}

func yes(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func floor(r *big.Rat) *big.Int {
	return new(big.Int).Div(r.Num(), r.Denom()) // Euclidean: the denominator is positive
}

func ceil(r *big.Rat) *big.Int {
	f := floor(new(big.Rat).Neg(r))
	return f.Neg(f)
}

// span converts ns nanoseconds, cut to the range of a Span.
func span(ns *big.Int) engine.Span {
	ms, rest := new(big.Int).DivMod(ns, big.NewInt(1e6), new(big.Int))
	if !ms.IsInt64() {
		return engine.Span{Millis: math.MaxInt64}
	}
	return engine.Span{Millis: ms.Int64(), Nanos: rest.Int64()}
}
