package engine_test

import (
	"math/big"
	"slices"

	"limitsrv/engine"
)

// group decides a group. Each limit is checked with the permits that earlier limits of
// the group request of the same key; a denied group counts nothing.
func (t *model) group(ops []engine.Op) []engine.Decision {
	if ops[0].Kind == engine.Needs { // the model has no documents
		if ops[0].N != 0 {
			return slices.Repeat([]engine.Decision{{Status: engine.Stale}}, len(ops))
		}
		ds := t.group(ops[1:])
		return append([]engine.Decision{{Status: ds[0].Status, Allowed: yes(ds[0].Status == engine.OK)}}, ds...)
	}
	wrong := slices.Repeat([]engine.Decision{{Status: engine.WrongType}}, len(ops)) // changes nothing
	if t.wrongType(ops, true) {
		return wrong
	}
	if ds := t.closed(ops); ds != nil {
		return ds
	}
	if t.wrongType(ops, false) {
		return wrong
	}
	trial := newModel()
	trial.now = t.now
	for key, k := range t.keys {
		trial.keys[key] = k.clone()
	}
	var ds []engine.Decision
	for i := range ops {
		ds = append(ds, trial.member(&ops[i]))
	}
	if passes(ops, ds) {
		t.keys = trial.keys
		return ds
	}
	found := newModel()
	found.now = t.now
	for key, k := range t.keys {
		found.keys[key] = k.clone()
	}
	var takers []engine.Op // that would take if the group passed
	for i := range ops {
		if ops[i].Mode == engine.Guard {
			continue
		}
		ds[i] = t.deniedMember(&ops[i])
		if ds[i].Allowed, ds[i].Wait = 1, t.holdOf(&ops[i]); ops[i].N > 0 {
			ds[i].Allowed, ds[i].Wait = found.passesAfter(takers, &ops[i], ds[i].Wait)
			taker := ops[i]
			if taker.Mode != 0 && ds[i].Allowed == 0 {
				taker.N = 0 // only its parameters count
			}
			takers = append(takers, taker)
		}
	}
	t.strike(ops, ds)
	return ds
}

// wrongType reports whether a guard, or another member, is on a key of another algorithm. A
// missing key has the algorithm of the earlier members on it.
func (t *model) wrongType(ops []engine.Op, guards bool) bool {
	for i, op := range ops {
		if (op.Mode == engine.Guard) != guards {
			continue
		}
		if k := t.find(op.Key); k != nil && k.p.Alg != op.Params.Alg {
			return true
		}
		for _, o := range ops[:i] {
			if string(o.Key) == string(op.Key) && o.Params.Alg != op.Params.Alg {
				return true
			}
		}
	}
	return false
}

// member decides a member by itself.
func (t *model) member(op *engine.Op) engine.Decision {
	alone := *op
	alone.Mode = 0
	switch {
	case op.Mode == engine.Guard:
		return t.boxOf(op).look(op.Params, t.now)
	case op.Kind == engine.Take:
		return t.take(&alone)
	case op.N > 0:
		return t.acquire(&alone)
	}
	if k := t.find(op.Key); k != nil && k.p.Alg != engine.Lease {
		return engine.Decision{Status: engine.WrongType}
	}
	d := t.deniedMember(op)
	d.Allowed = 1
	if op.Kind == engine.Acquire {
		k := t.under(op)
		if _, holds := k.live(t.now)[string(op.ID)]; !holds {
			d.Wait = t.leaseDecision(k, 0).Wait
		}
	}
	return d
}

// passes reports whether a group passes.
func passes(ops []engine.Op, ds []engine.Decision) bool {
	count := map[engine.Mode][2]int{} // of the denied and of the allowed
	for i := range ops {
		n := count[ops[i].Mode]
		n[ds[i].Allowed]++
		count[ops[i].Mode] = n
	}
	return count[0][0] == 0 && count[engine.Guard][0] == 0 &&
		(count[engine.AnyOf] == [2]int{} || count[engine.AnyOf][1] > 0)
}

// passesAfter reports whether op would pass after the ops in others on its key, and its
// wait, which is hold if it would. These ops take their permits when op passes; for a
// bucket that is the same as taking them now.
func (t *model) passesAfter(others []engine.Op, op *engine.Op, hold engine.Span) (allowed int64, wait engine.Span) {
	if op.Kind == engine.Acquire {
		return t.placeAfter(others, op)
	}
	n := op.N
	after := func(k *modelKey) *modelKey {
		n = op.N
		if k == nil {
			k = &modelKey{p: op.Params, permits: referenceOf(op.Params.Alg).state()}
		}
		k = k.clone()
		for _, o := range others {
			if string(o.Key) == string(op.Key) {
				k.change(o.Params, t.now)
				if o.N > 0 && o.Params.Count > 0 {
					k.permits.take(o.Params, t.now, o.N)
				} else {
					n += o.N
				}
			}
		}
		k.change(op.Params, t.now)
		return k
	}
	k := after(t.find(op.Key))
	switch {
	case k.passes(t.now, n, op.Params.Limit):
		return 1, hold
	case !after(nil).passes(t.now, n, op.Params.Limit):
		return 0, engine.Never
	}
	wait = k.wait(t.now, n, op.Params.Limit)
	if k := t.find(op.Key); k != nil && k.p.Count > 0 { // a full bucket has no past
		if reset := k.reset(t.now); longer(wait, reset) {
			wait = reset
		}
	}
	return 0, wait
}

// deniedMember returns the state of a limit of a denied group. It stores new parameters,
// as a denial does.
func (t *model) deniedMember(op *engine.Op) engine.Decision {
	k := t.under(op)
	if op.Kind == engine.Acquire {
		d := t.leaseDecision(k, 0)
		d.Wait = engine.Span{}
		return d
	}
	return engine.Decision{Params: op.Params, Remaining: k.free(t.now), Reset: k.reset(t.now)}
}

// holdOf returns how long op is held if it passes.
func (t *model) holdOf(op *engine.Op) engine.Span { return t.under(op).hold(t.now) }

// under returns the key of an op with its parameters: a copy, if there is no such key or
// the op is read-only.
func (t *model) under(op *engine.Op) *modelKey {
	k := t.find(op.Key)
	switch {
	case k == nil && op.Kind == engine.Acquire:
		k = &modelKey{p: op.Params}
	case k == nil:
		k = &modelKey{p: op.Params, permits: referenceOf(op.Params.Alg).state()}
	case op.N == 0:
		k = k.clone()
	}
	k.change(op.Params, t.now)
	return k
}

// placeAfter is passesAfter for an Acquire.
func (t *model) placeAfter(others []engine.Op, op *engine.Op) (allowed int64, wait engine.Span) {
	ends, added := []int64{}, map[string]bool{}
	holders := map[string]int64{}
	if k := t.find(op.Key); k != nil {
		ends, holders = k.ends(t.now), k.live(t.now)
	}
	for _, o := range others {
		if _, holds := holders[string(o.ID)]; string(o.Key) == string(op.Key) && o.N > 0 && !holds {
			added[string(o.ID)] = true
		}
	}
	_, holds := holders[string(op.ID)]
	room := op.Params.Limit - int64(len(added)) // for those who hold a lease already, and op
	switch {
	case holds || added[string(op.ID)] || int64(len(ends)) < room:
		return 1, engine.Span{}
	case room < 1:
		return 0, engine.Never
	}
	return 0, span(big.NewInt(ends[int64(len(ends))-room] - t.now))
}
