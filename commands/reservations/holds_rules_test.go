package reservations_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"limitsrv/commands/reservations"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/testing/testwait"
)

// modes are the modes of limits by rules.
var modes = []engine.Mode{0, 0, engine.Shadow, engine.AnyOf}

// A request is the ops of a random request by rules: some limits without a box, and then some with one.
func randomRequest(rng *rand.Rand, params []engine.Params) (ops []engine.Op) {
	ops = append(ops, engine.NeedsOf(engine.Rules, 0, 1))
	penalty := engine.Penalty{After: 2, Within: 60e9, Block: 60e9, Growth: 100, Max: 60e9, Forgive: 60e9}
	guard := rng.IntN(2 * len(params))
	for i, p := range params {
		if i == guard {
			ops = append(ops, engine.Op{Mode: engine.Guard, N: 1, Params: penalty.Params(), Key: []byte("box")})
		}
		op := engine.Op{Mode: modes[rng.IntN(len(modes))], Params: p, Key: fmt.Append(nil, i), N: rng.Int64N(7)}
		if op.N == 0 {
			op.LookFor(1)
		}
		ops = append(ops, op)
	}
	ops[0].Group = uint8(len(ops))
	return ops
}

// peeks returns the states of all keys as text.
func peeks(e *engine.Engine, now engine.Instant, n int) string {
	b := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("box")}}}
	for i := range n {
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Peek, Key: fmt.Append(nil, i)})
	}
	e.Apply(now, &b)
	var all strings.Builder
	for i := range b.Decisions {
		d := &b.Decisions[i]
		fmt.Fprintln(&all, string(b.Ops[i].Key), d.Status, d.Params, d.Remaining, d.Wait, d.Reset)
	}
	return all.String()
}

// TestReservationsByRules: a reservation by rules takes as the group of its ops would take without an id, with
// its boxes and modes, and so does an extension. A commit of all that is held then changes nothing, and after
// a cancel the keys are as if there had been no request.
func TestReservationsByRules(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	seen := map[string]int{}
	for trial := range 800 {
		now := engine.Instant(1e18)
		var params []engine.Params
		for range 1 + rng.IntN(4) {
			params = append(params, engine.Params{Alg: []engine.Alg{engine.Fixed, engine.Log, engine.Slide}[rng.IntN(3)],
				Limit: 3 + rng.Int64N(12), Period: 3600e9})
		}
		held, plain, never := newEngine(), newEngine(), newEngine()
		everywhere := func(ops []engine.Op) (b engine.Batch) {
			for _, e := range []*engine.Engine{held, plain, never} {
				b = engine.Batch{Ops: append([]engine.Op(nil), ops...)}
				e.Apply(now, &b)
			}
			return b
		}
		for range rng.IntN(3) { // requests before
			everywhere(randomRequest(rng, params))
		}
		ops := randomRequest(rng, params)
		want := engine.Batch{Ops: append([]engine.Op(nil), ops...)}
		plain.Apply(now, &want)
		terms := reservations.Terms{TTL: 60e9, Fixed: rng.Uint64N(16), Request: 7}
		reserve := func() (reply reservations.Reply) {
			b := engine.Batch{Ops: append([]engine.Op(nil), ops...)}
			reservations.Reserve(&b, 0, []byte("id"), terms)
			if err := commands.Check(&b.Calls[0]); err != nil {
				t.Fatal(err)
			}
			held.Apply(now, &b)
			if err := reply.Read(&b.Calls[0]); err != nil {
				t.Fatal(err)
			}
			return reply
		}
		reply, limits, fixed := reserve(), []int{}, map[int]bool{}
		passes := engine.Passed(ops[1:], want.Decisions[1:])
		place := 0
		for i := range ops {
			if reply.Decisions[i].Allowed != want.Decisions[i].Allowed || reply.Decisions[i].Remaining !=
				want.Decisions[i].Remaining {
				t.Fatalf("trial %d: op %d of %+v: %+v, want %+v", trial, i, ops, reply.Decisions[i], want.Decisions[i])
			}
			if ops[i].Kind == engine.Needs || ops[i].Mode == engine.Guard {
				continue
			}
			if passes && want.Decisions[i].Allowed > 0 {
				limits = append(limits, i)
				fixed[i] = terms.Fixed>>place&1 != 0
			}
			place++
		}
		same := func(step string, other *engine.Engine) {
			t.Helper()
			if got, want := peeks(held, now, len(params)), peeks(other, now, len(params)); got != want {
				t.Fatalf("trial %d: after %s of %+v the keys are\n%swant\n%s", trial, step, ops, got, want)
			}
		}
		same("a reservation", plain)
		if !passes {
			seen["denied"]++
			continue
		}
		if again := reserve(); !again.Repeated || fmt.Sprint(allowed(again)) != fmt.Sprint(allowed(reply)) {
			t.Fatalf("trial %d: the same again is allowed %v, was %v", trial, allowed(again), allowed(reply))
		}
		actual := extend(t, rng, held, plain, now, ops, limits, fixed, seen)
		same("an extension", plain)
		b := engine.Batch{}
		if rng.IntN(2) == 0 {
			if len(limits) == 0 { // all are in shadow, and none has as many
				actual = []int64{5}
			}
			reservations.Commit(&b, []byte("id"), actual)
			held.Apply(now, &b)
			same("a commit", plain)
			continue
		}
		reservations.Cancel(&b, []byte("id"))
		held.Apply(now, &b)
		same("a cancel", never)
	}
	for _, what := range []string{"denied", "extended", "limited", "missed"} {
		if seen[what] < 10 {
			t.Errorf("%s %d times", what, seen[what])
		}
	}
}

// allowed returns Allowed of each decision.
func allowed(r reservations.Reply) (all []int64) {
	for i := range r.Decisions {
		all = append(all, r.Decisions[i].Allowed)
	}
	return all
}

// extend extends the reservation of ops in held, and takes the same from plain. It returns the tokens that
// each limit then holds.
func extend(t *testing.T, rng *rand.Rand, held, plain *engine.Engine, now engine.Instant, ops []engine.Op,
	limits []int, fixed map[int]bool, seen map[string]int) (actual []int64) {
	by := 1 + rng.Int64N(4)
	var more engine.Batch
	for _, i := range limits {
		if actual = append(actual, ops[i].N); !fixed[i] {
			more.Ops = append(more.Ops, engine.Op{Mode: ops[i].Mode, Params: ops[i].Params, Key: ops[i].Key, N: by})
		}
	}
	if len(more.Ops) == 0 {
		return actual
	}
	more.Ops[0].Group = uint8(len(more.Ops))
	plain.Apply(now, &more)
	var b engine.Batch
	reservations.Extend(&b, []byte("id"), reservations.Extension{TTL: 60e9, By: by, Keep: reservations.Unchanged})
	held.Apply(now, &b)
	_, rest, _ := answer.Next(b.Calls[0].Answer)
	done, _, _ := answer.TakeInt(rest)
	passes := engine.Passed(more.Ops, more.Decisions)
	if passes != (done == 1) {
		t.Fatalf("an extension of %+v is answered %q, want %v", ops, b.Calls[0].Answer, passes)
	}
	if !passes {
		seen["limited"]++
		return actual
	}
	seen["extended"]++
	next := 0
	for j, i := range limits {
		if fixed[i] {
			continue
		}
		if more.Decisions[next].Allowed > 0 {
			actual[j] += by
		} else {
			seen["missed"]++
		}
		next++
	}
	return actual
}

// TestMissedExtension: a commit charges a limit in shadow nothing for an extension that the limit missed.
func TestMissedExtension(t *testing.T) {
	p := func(limit int64) engine.Params {
		return engine.Params{Alg: engine.Fixed, Limit: limit, Period: 60e9}
	}
	for used, want := range map[int64]int64{6: 6, 10: 10, 14: 10, 20: 10, 25: 15} {
		e, now := newEngine(), engine.Instant(1e18)
		b := engine.Batch{Ops: []engine.Op{engine.NeedsOf(engine.Rules, 0, 2),
			{Params: p(100), N: 10, Key: []byte("large")},
			{Params: p(15), N: 10, Key: []byte("small"), Mode: engine.Shadow}}}
		reservations.Reserve(&b, 0, []byte("id"), reservations.Terms{TTL: 60e9})
		reservations.Extend(&b, []byte("id"), reservations.Extension{TTL: 60e9, By: 10, Keep: reservations.Unchanged})
		reservations.Commit(&b, []byte("id"), []int64{used})
		e.Apply(now, &b)
		looks := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("large")},
			{Kind: engine.Peek, Key: []byte("small")}}}
		e.Apply(now, &looks)
		large, small := 100-looks.Decisions[0].Remaining, 15-looks.Decisions[1].Remaining
		if large != used || small != want {
			t.Errorf("of %d used permits the limits count %d and %d, want %d and %d", used, large, small, used, want)
		}
	}
}

// TestStaleReservation: a request by rules that are not in force reserves nothing, also under an id that has a
// reservation.
func TestStaleReservation(t *testing.T) {
	e := newEngine()
	reserve := func(version uint64) engine.Status {
		b := engine.Batch{Ops: []engine.Op{engine.NeedsOf(engine.Rules, version, 1),
			{Params: engine.Params{Alg: engine.Fixed, Limit: 9, Period: 60e9}, N: 2, Key: []byte("k")}}}
		reservations.Reserve(&b, 0, []byte("id"), reservations.Terms{TTL: 60e9})
		e.Apply(1e18, &b)
		var reply reservations.Reply
		if err := reply.Read(&b.Calls[0]); err != nil || reply.Decisions[0].Status != reply.Decisions[1].Status {
			t.Fatal(reply, err)
		}
		return reply.Decisions[0].Status
	}
	if got := reserve(5); got != engine.Stale || e.Stats().Keys != 0 {
		t.Errorf("the status is %v, with %d keys", got, e.Stats().Keys)
	}
	if got := reserve(0); got != engine.OK {
		t.Errorf("the status is %v", got)
	}
	if got := reserve(5); got != engine.Stale {
		t.Errorf("of a repeated request the status is %v", got)
	}
}
