package persist

import (
	"errors"
	"fmt"

	"limitsrv/engine"
)

// paramBounds holds the bounds of each algorithm's parameters, by Alg.
var paramBounds = [...]struct {
	limit int64 // maximum
	rate  bool  // Count per Period in lowest terms; otherwise Period is a window or ttl
}{
	engine.Token: {limit: engine.MaxLimit, rate: true},
	engine.Leaky: {limit: engine.MaxLimit, rate: true},
	engine.Fixed: {limit: engine.MaxLimit},
	engine.Slide: {limit: engine.MaxLimit},
	engine.Log:   {limit: engine.MaxListed},
	engine.Lease: {limit: engine.MaxListed},
}

// checkParams checks parameters that are not zero against the bounds of the engine.
func checkParams(p *engine.Params) error {
	if int(p.Alg) >= len(paramBounds) {
		return fmt.Errorf("unknown algorithm %d", p.Alg)
	}
	bounds := &paramBounds[p.Alg]
	ok := p.Limit >= 1 && p.Limit <= bounds.limit
	switch {
	case bounds.rate:
		ok = ok && p.Calendar == engine.NoCalendar && p.Count >= 1 && p.Count <= engine.MaxRateCount &&
			p.Count <= p.Period && p.Period <= engine.MaxRatePeriod && gcd(p.Period, p.Count) == 1
	case p.Calendar != engine.NoCalendar:
		ok = ok && p.Alg == engine.Fixed && p.Calendar <= engine.Year && p.Count == 0 && p.Period == 0
	default:
		ok = ok && p.Count == 0 && p.Period >= engine.MinPeriod && p.Period <= engine.MaxPeriod
	}
	if !ok {
		return fmt.Errorf("parameters out of range: %+v", *p)
	}
	return nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// checkOp checks an op against the bounds of the engine. Requires: its parameters are
// zero or checked, and the lengths of key and id are checked.
func checkOp(op *engine.Op, atomic bool) error {
	none := op.Params == engine.Params{}
	lease := !none && op.Params.Alg == engine.Lease
	var ok bool
	switch op.Kind {
	case engine.Take:
		ok = !none && !lease
	case engine.Acquire:
		ok = lease && op.N == 1 && len(op.ID) > 0
	case engine.Release:
		ok = len(op.ID) > 0
	case engine.Peek, engine.Refund, engine.Charge, engine.Forget, engine.Flush, engine.Expect, engine.Watch:
		ok = true
	default:
		return fmt.Errorf("unknown kind of op %d", op.Kind)
	}
	switch {
	case !ok:
		return fmt.Errorf("an op of kind %d lacks a field or has a wrong one", op.Kind)
	case op.Kind == engine.Expect && !atomic:
		return errors.New("an Expect in a batch that is not atomic")
	case op.Kind != engine.Expect && (op.N < 0 || op.N > engine.MaxN):
		return fmt.Errorf("n is %d, 0 to %d is allowed", op.N, int64(engine.MaxN))
	case op.Group > engine.MaxGroup:
		return fmt.Errorf("a group of %d, at most %d are allowed", op.Group, engine.MaxGroup)
	}
	return nil
}
