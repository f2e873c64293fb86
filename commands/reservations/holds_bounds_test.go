package reservations_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/reservations"
	"limitsrv/commands/weighing"
	"limitsrv/engine"
)

// TestReservationsWithoutMemory: without memory nothing is reserved, and reservations are settled.
func TestReservationsWithoutMemory(t *testing.T) {
	e := newEngine()
	take := engine.Op{Params: engine.Params{Alg: engine.Fixed, Limit: 9, Period: 60e9}, N: 2, Key: []byte("k")}
	reserve := func(b *engine.Batch, id string) {
		b.Ops = append(b.Ops, take)
		reservations.Reserve(b, 0, []byte(id), reservations.Terms{TTL: 60e9})
	}
	apply := func(tight bool, build func(b *engine.Batch)) []byte {
		b := engine.Batch{Tight: tight, Full: tight}
		build(&b)
		e.Apply(1e18, &b)
		return b.Calls[0].Answer
	}
	apply(false, func(b *engine.Batch) { reserve(b, "a") })
	b := engine.Batch{Tight: true, Full: true}
	reserve(&b, "b")
	e.Apply(1e18, &b)
	var reply reservations.Reply
	if err := reply.Read(&b.Calls[0]); err != nil || reply.Decisions[0].Status != engine.NoMemory {
		t.Errorf("RESERVE is answered %+v, %v", reply.Decisions, err)
	}
	extend := func(by int64) func(b *engine.Batch) {
		return func(b *engine.Batch) {
			reservations.Extend(b, []byte("a"), reservations.Extension{TTL: 9e9, By: by, Keep: reservations.Unchanged})
		}
	}
	if got := apply(true, extend(1)); !bytes.Contains(got, []byte("OOM")) {
		t.Errorf("EXTEND BY is answered %q", got)
	}
	if got := apply(true, extend(0)); !bytes.Contains(got, []byte("open")) {
		t.Errorf("EXTEND is answered %q", got)
	}
	commit := func(b *engine.Batch) { reservations.Commit(b, []byte("a"), []int64{4}) }
	if got := apply(true, commit); !bytes.Contains(got, []byte("committed")) {
		t.Errorf("COMMIT is answered %q", got)
	}
	look := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: take.Key}, {Kind: engine.Peek, Key: []byte("b")}}}
	if e.Apply(1e18, &look); look.Decisions[0].Remaining != 5 || look.Decisions[1].Status != engine.Missing {
		t.Errorf("then there is %+v", look.Decisions)
	}
}

// TestMaxHolds: a key has a bounded number of open holds. Holds that have ended do not count.
func TestMaxHolds(t *testing.T) {
	e := newEngine()
	reserve := func(now engine.Instant, n int) error {
		b := engine.Batch{Ops: []engine.Op{{Params: engine.Params{Alg: engine.Fixed, Limit: 1e9, Period: 1e15}, N: 1,
			Key: []byte("k")}}}
		reservations.Reserve(&b, 0, fmt.Append(nil, n), reservations.Terms{TTL: 1e9})
		e.Apply(now, &b)
		var reply reservations.Reply
		return reply.Read(&b.Calls[0])
	}
	for i := range engine.MaxHolds {
		if err := reserve(1e18, i); err != nil {
			t.Fatal(err)
		}
	}
	want := fmt.Sprint(engine.MaxHolds, " holds, which is the maximum")
	if err := reserve(1e18, -1); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a hold beyond the bound: %v", err)
	}
	b := engine.Batch{}
	reservations.Extend(&b, []byte("0"), reservations.Extension{TTL: 1e9, By: 1, Keep: reservations.Unchanged})
	e.Apply(1e18, &b)
	if got := string(b.Calls[0].Answer); !strings.Contains(got, "ERR a limit of the reservation has "+want) {
		t.Errorf("an extension beyond the bound: %q", got)
	}
	if err := reserve(1e18+1e9, -1); err != nil {
		t.Error(err)
	}
	if open := e.Stats().Holds.Open; open != 1 {
		t.Errorf("%d holds are open, want 1", open)
	}
}

// TestCheckRefusesReservations: calls from outside that this package does not make are errors.
func TestCheckRefusesReservations(t *testing.T) {
	take := engine.Op{Params: engine.Params{Alg: engine.Fixed, Limit: 9, Period: 60e9}, N: 2, Key: []byte("k")}
	reserved := func(terms reservations.Terms, ops ...engine.Op) engine.Call {
		b := engine.Batch{Ops: ops}
		reservations.Reserve(&b, 0, []byte("id"), terms)
		return b.Calls[0]
	}
	made := func(build func(b *engine.Batch)) engine.Call {
		var b engine.Batch
		build(&b)
		return b.Calls[0]
	}
	terms := reservations.Terms{TTL: 1e9, Keep: 3, Fixed: 1}
	with := func(change func(op *engine.Op)) engine.Op {
		op := take
		change(&op)
		return op
	}
	member := func(key string, mode engine.Mode) engine.Op {
		return with(func(op *engine.Op) { op.Key, op.Mode = []byte(key), mode })
	}
	needs := engine.NeedsOf(engine.Rules, 7, 1)
	penalty := engine.Penalty{After: 1, Within: 60e9, Block: 60e9, Growth: 100, Max: 60e9, Forgive: 60e9}
	guard := engine.Op{Mode: engine.Guard, N: 1, Key: []byte("box"), Params: penalty.Params()}
	many := []engine.Op{needs}
	for i := range engine.MaxGroup + 1 {
		many = append(many, member(fmt.Sprint(i), 0))
	}
	lease := func(holder string) engine.Op {
		return engine.Op{Kind: engine.Acquire, N: 1, Key: []byte("leases"), ID: []byte(holder),
			Params: engine.Params{Alg: engine.Lease, Limit: 9, Period: 60e9}}
	}
	bare := terms
	bare.Bare = true
	named := func(change func(t *reservations.Terms), ops ...engine.Op) engine.Call {
		t := terms
		t.Names = [][]byte{[]byte("in"), []byte("out")}
		t.Weights = []reservations.Weight{{Limit: 0, Name: 0, Millionths: 5}, {Limit: 0, Name: 1}, {Limit: 1, Name: 0}}
		change(&t)
		return reserved(t, ops...)
	}
	used := func(all ...weighing.Amount) engine.Call {
		return made(func(b *engine.Batch) { reservations.CommitNamed(b, []byte("id"), all) })
	}
	in, other := weighing.Amount{Name: []byte("in"), N: 5}, member("other", 0)
	extension := reservations.Extension{TTL: 1, By: 2, Keep: 3}
	for name, c := range map[string]engine.Call{
		"RESERVE": reserved(terms, take),
		"RESERVE by rules": reserved(terms, needs, take, guard, member("shadow", engine.Shadow), member("any", engine.AnyOf),
			with(func(op *engine.Op) { op.Key = []byte("look"); op.N = 0; op.LookFor(3) })),
		"RESERVE of a lease":  reserved(terms, needs, lease("id"), take),
		"RESERVE of no limit": reserved(bare, needs, take),
		"RESERVE with names":  named(func(*reservations.Terms) {}, needs, take, other),
		"RESERVE of names":    named(func(t *reservations.Terms) { t.Bare, t.Weights = true, nil }, needs, take),
		"COMMIT of amounts":   used(weighing.Amount{Name: []byte("out")}, in),
		"EXTEND":              made(func(b *engine.Batch) { reservations.Extend(b, []byte("id"), extension) }),
		"COMMIT":              made(func(b *engine.Batch) { reservations.Commit(b, []byte("id"), []int64{1, 2}) }),
		"CANCEL":              made(func(b *engine.Batch) { reservations.Cancel(b, []byte("id")) }),
		"look":                made(func(b *engine.Batch) { reservations.Reserved(b, []byte("id")) }),
	} {
		if err := commands.Check(&c); err != nil || c.ReadOnly != (name == "look") {
			t.Errorf("%s: %v, and it is read-only: %v", name, err, c.ReadOnly)
		}
		for i := range c.Args {
			bad := c
			if bad.Args = slices.Clone(c.Args); len(bad.Args[i]) > 0 {
				bad.Args[i] = nil
				if commands.Check(&bad) == nil {
					t.Errorf("%s without argument %d is accepted", name, i)
				}
			}
		}
		bad := c
		if bad.Args = append(slices.Clone(c.Args), []byte("x")); commands.Check(&bad) == nil {
			t.Errorf("%s with another argument is accepted", name)
		}
	}
	for name, c := range map[string]engine.Call{
		"no ttl":                    reserved(reservations.Terms{}, take),
		"a negative KEEP":           reserved(reservations.Terms{TTL: 1, Keep: -1}, take),
		"a key twice":               reserved(terms, take, take),
		"a charge":                  reserved(terms, with(func(op *engine.Op) { op.Kind = engine.Charge })),
		"a mode":                    reserved(terms, with(func(op *engine.Op) { op.Mode = engine.Shadow })),
		"64 limits and 1":           reserved(terms, many...),
		"a guard alone":             reserved(terms, needs, guard),
		"no rules":                  reserved(bare, take),
		"two of none":               reserved(bare, needs, take, member("other", 0)),
		"a key twice by rules":      reserved(terms, needs, take, take),
		"a lease without rules":     reserved(terms, lease("id")),
		"a lease of another holder": reserved(terms, needs, lease("i")),
		"a lease that is not fixed": reserved(terms, needs, take, lease("id")),
		"no parameters":             reserved(terms, with(func(op *engine.Op) { op.Params = engine.Params{} })),
		"a negative number": made(func(b *engine.Batch) {
			reservations.Commit(b, []byte("id"), []int64{-1})
		}),
		"names without rules":     named(func(*reservations.Terms) {}, take, other),
		"weights of no limit":     named(func(t *reservations.Terms) { t.Bare = true }, needs, take),
		"weights of a limit less": named(func(*reservations.Terms) {}, needs, take),
		"names out of order":      named(func(t *reservations.Terms) { slices.Reverse(t.Names) }, needs, take, other),
		"a name twice":            named(func(t *reservations.Terms) { t.Names[1] = t.Names[0] }, needs, take, other),
		"a long name": named(func(t *reservations.Terms) { t.Names[1] = bytes.Repeat([]byte("x"), 65) }, needs,
			take, other),
		"a wrong name":         named(func(t *reservations.Terms) { t.Names[1] = []byte("x y") }, needs, take, other),
		"an unknown name":      named(func(t *reservations.Terms) { t.Weights[1].Name = 2 }, needs, take, other),
		"weights out of order": named(func(t *reservations.Terms) { slices.Reverse(t.Weights) }, needs, take, other),
		"a weight twice":       named(func(t *reservations.Terms) { t.Weights[1].Name = 0 }, needs, take, other),
		"a heavy weight": named(func(t *reservations.Terms) { t.Weights[1].Millionths = 1<<63 - 1 }, needs, take,
			other),
		"many names": named(func(t *reservations.Terms) {
			for i := range reservations.MaxNames {
				t.Names = append(t.Names, fmt.Appendf(nil, "x%03d", i))
			}
		}, needs, take, other),
		"no amount":         used(),
		"a negative amount": used(weighing.Amount{Name: []byte("in"), N: -1}),
		"a large amount":    used(weighing.Amount{Name: []byte("in"), N: engine.MaxN + 1}),
		"an amount twice":   used(in, in),
		"a bad amount":      used(weighing.Amount{Name: []byte("1"), N: 1}),
		"17 amounts": used(func() (all []weighing.Amount) {
			for i := range weighing.MostNames + 1 {
				all = append(all, weighing.Amount{Name: fmt.Appendf(nil, "x%02d", i)})
			}
			return all
		}()...),
		"no number": made(func(b *engine.Batch) { reservations.Commit(b, []byte("id"), nil) }),
		"an extension without ttl": made(func(b *engine.Batch) {
			reservations.Extend(b, []byte("id"), reservations.Extension{})
		}),
	} {
		if commands.Check(&c) == nil {
			t.Errorf("a call with %s is accepted", name)
		}
	}
}
