package engine_test

import (
	"testing"

	"limitsrv/engine"
)

// keyParams are parameters of each algorithm.
var keyParams = []engine.Params{
	{Alg: engine.Token, Limit: 10, Count: 1, Period: 3_000_000_000},
	{Alg: engine.Leaky, Limit: 10, Count: 1, Period: 3_000_000_000},
	{Alg: engine.Fixed, Limit: 10, Calendar: engine.Month},
	{Alg: engine.Slide, Limit: 10, Period: 60_000_000_000},
	{Alg: engine.Log, Limit: 10, Period: 60_000_000_000},
	{Alg: engine.Lease, Limit: 10, Period: 60_000_000_000},
}

// TestWrongType checks that an op of another algorithm is answered with the algorithm of
// the key and its reset: at that time the op passes, and a nanosecond before it does not.
func TestWrongType(t *testing.T) {
	const now = engine.Instant(1_700_000_000_123_456_789)
	take := func(p engine.Params) engine.Op {
		if p.Alg == engine.Lease {
			return engine.Op{Kind: engine.Acquire, Params: p, N: 1, Key: []byte("k"), ID: []byte("a")}
		}
		return engine.Op{Kind: engine.Take, Params: p, N: 3, Key: []byte("k")}
	}
	ask := func(e *engine.Engine, at engine.Instant, ops ...engine.Op) []engine.Decision {
		b := engine.Batch{Ops: ops}
		e.Apply(at, &b)
		return b.Decisions
	}
	for _, held := range keyParams {
		for _, other := range keyParams {
			if held.Alg == other.Alg {
				continue
			}
			forms := map[string][]engine.Op{"alone": {take(other)}}
			look := take(other)
			if look.Kind == engine.Take {
				look.N = 0
				forms["read-only"] = []engine.Op{look}
				group := []engine.Op{{Kind: engine.Take, Params: other, N: 1, Key: []byte("another"), Group: 2}, take(other)}
				forms["in a group"] = group
			} else {
				forms["released"] = []engine.Op{{Kind: engine.Release, Key: []byte("k"), ID: []byte("a")}}
			}
			if held.Alg == engine.Lease {
				forms["refunded"] = []engine.Op{{Kind: engine.Refund, N: 1, Key: []byte("k")}}
				forms["charged"] = []engine.Op{{Kind: engine.Charge, N: 1, Key: []byte("k")}}
			}
			for form, ops := range forms {
				e := engine.New(engine.Options{})
				if d := ask(e, now, take(held)); d[0].Allowed != 1 {
					t.Fatalf("%v: %+v", held.Alg, d)
				}
				ds := ask(e, now+5, ops...)
				last := ds[len(ds)-1]
				if last.Status != engine.WrongType || last.Params != held || last.Reset == (engine.Span{}) {
					t.Errorf("%v on a key of %v, %s: %+v", other.Alg, held.Alg, form, last)
				}
				if ds[0].Status != engine.WrongType || len(ds) > 1 && ds[0].Params != (engine.Params{}) {
					t.Errorf("%v on a key of %v, %s: the first answer is %+v", other.Alg, held.Alg, form, ds[0])
				}
				free := now + 5 + engine.Instant(last.Reset.Millis*1e6+last.Reset.Nanos)
				if d := ask(e, free-1, ops...)[len(ds)-1]; d.Status != engine.WrongType {
					t.Errorf("%v on a key of %v, %s: a nanosecond before its reset: %+v", other.Alg, held.Alg, form, d)
				}
				if d := ask(e, free, ops...)[len(ds)-1]; d.Status == engine.WrongType {
					t.Errorf("%v on a key of %v, %s: at its reset: %+v", other.Alg, held.Alg, form, d)
				}
			}
		}
	}
}

// TestWrongTypeInOneGroup checks a group with two limits that name the same key with two
// algorithms: the second is answered with the first.
func TestWrongTypeInOneGroup(t *testing.T) {
	e := engine.New(engine.Options{})
	b := engine.Batch{Ops: []engine.Op{
		{Kind: engine.Take, Params: keyParams[0], N: 1, Key: []byte("k"), Group: 2},
		{Kind: engine.Take, Params: keyParams[2], N: 1, Key: []byte("k")},
	}}
	e.Apply(1, &b)
	if d := b.Decisions; d[0] != (engine.Decision{Status: engine.WrongType}) ||
		d[1] != (engine.Decision{Status: engine.WrongType, Params: keyParams[0]}) {
		t.Errorf("the answers are %+v", d)
	}
}
