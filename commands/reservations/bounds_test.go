package reservations_test

import (
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/reservations"
	"limitsrv/engine"
)

// TestNoMemory: without memory for the id nothing counts, also if the keys of the request exist.
func TestNoMemory(t *testing.T) {
	p := newPair(t)
	take := engine.Op{Params: engine.Params{Alg: engine.Fixed, Limit: 9, Period: 60e9}, N: 2, Key: []byte("k")}
	charge := take
	charge.Kind, charge.Mode = engine.Charge, engine.Fit
	p.apply(p.with, []engine.Op{take})
	for _, ops := range [][]engine.Op{{take}, {charge}, {engine.NeedsOf(engine.Rules, 0, 1), charge}} {
		b := engine.Batch{Ops: slices.Clone(ops), Tight: true, Full: true}
		reservations.Wrap(&b, 0, []byte("id"), 1e9, 1)
		p.with.Apply(p.now, &b)
		var reply reservations.Reply
		if err := reply.Read(&b.Calls[0]); err != nil || reply.Decisions[len(ops)-1].Status != engine.NoMemory {
			t.Errorf("%+v is answered %+v, %v", ops, reply.Decisions, err)
		}
		look := p.apply(p.with, []engine.Op{{Kind: engine.Peek, Key: []byte("k")}, {Kind: engine.Peek, Key: []byte("id")}})
		if look[0].Remaining != 7 || look[1].Status != engine.Missing {
			t.Errorf("after %+v: %+v", ops, look)
		}
	}
}

// TestCheckRefuses: calls from outside that Wrap does not make are errors.
func TestCheckRefuses(t *testing.T) {
	wrapped := func(ops ...engine.Op) engine.Call {
		b := engine.Batch{Ops: ops}
		reservations.Wrap(&b, 0, []byte("id"), 1e9, 1)
		return b.Calls[0]
	}
	take := engine.Op{Params: engine.Params{Alg: engine.Fixed, Limit: 9, Period: 60e9}, N: 2, Key: []byte("k")}
	with := func(change func(op *engine.Op)) engine.Op {
		op := take
		change(&op)
		return op
	}
	needs := engine.NeedsOf(engine.Rules, 0, 1)
	if c := wrapped(needs, take); commands.Check(&c) != nil {
		t.Fatal("a request by rules is refused")
	}
	good := wrapped(take)
	long, longKey := append(slices.Clone(good.Args[2]), 0), []byte(strings.Repeat("k", engine.MaxKeyBytes+1))
	for name, c := range map[string]engine.Call{
		"no ops":               {Command: good.Command, Args: good.Args[:2]},
		"half an op":           {Command: good.Command, Args: good.Args[:3]},
		"no id":                {Command: good.Command, Args: slices.Concat([][]byte{nil}, good.Args[1:])},
		"a short head":         {Command: good.Command, Args: slices.Concat(good.Args[:1], [][]byte{nil}, good.Args[2:])},
		"a spec with a rest":   {Command: good.Command, Args: slices.Concat(good.Args[:2], [][]byte{long}, good.Args[3:])},
		"another number":       {Command: good.Command + 1, Args: good.Args},
		"a Needs alone":        wrapped(needs),
		"a Needs within":       wrapped(take, needs),
		"a Forget":             wrapped(with(func(op *engine.Op) { op.Kind = engine.Forget })),
		"a Do":                 wrapped(with(func(op *engine.Op) { op.Kind = engine.Do })),
		"no key":               wrapped(with(func(op *engine.Op) { op.Key = nil })),
		"a long key":           wrapped(with(func(op *engine.Op) { op.Key = longKey })),
		"no parameters":        wrapped(with(func(op *engine.Op) { op.Params = engine.Params{} })),
		"wrong parameters":     wrapped(with(func(op *engine.Op) { op.Params.Limit = 0 })),
		"a guard alone":        wrapped(with(func(op *engine.Op) { op.Mode, op.Params, op.N = engine.Guard, box, 1 })),
		"a part within":        wrapped(take, with(func(op *engine.Op) { op.Mode = engine.Partial })),
		"a Take and a Release": wrapped(take, engine.Op{Kind: engine.Release, Key: take.Key, ID: []byte("h")}),
	} {
		if commands.Check(&c) == nil {
			t.Errorf("a call with %s is accepted", name)
		}
	}
}
