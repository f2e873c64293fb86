package reservations_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"limitsrv/commands/reservations"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/internal/testing/testwait"
)

// leaseLimit is the number of leases of the key "streams" of a borrower.
const leaseLimit = 3

// A borrower reserves leases of one key. It has the end of the reservation of each id, as a reference model of
// the leases.
type borrower struct {
	*world
	ends map[string]engine.Instant // of open reservations
	used map[string]bool           // ids that were made, and may be remembered
}

// open returns the number of reservations that have not ended.
func (x *borrower) open() (n int64) {
	for _, end := range x.ends {
		if end > x.now {
			n++
		}
	}
	return n
}

// lease returns the op for a lease of a holder.
func (x *borrower) lease(id string, n int64) engine.Op {
	return engine.Op{Kind: engine.Acquire, N: n, Key: []byte("streams"), ID: []byte(id),
		Params: engine.Params{Alg: engine.Lease, Limit: leaseLimit, Period: 9e9}}
}

// reserve reserves a lease and tokens for an id that is not in use, or sends a reservation again.
func (x *borrower) reserve() {
	id, ttl := fmt.Sprint(x.rng.IntN(9)), engine.Instant(1+x.rng.Int64N(20e9))
	free, repeats := x.open() < leaseLimit, x.ends[id] > x.now
	if x.used[id] && !repeats {
		return
	}
	b := x.apply(func(b *engine.Batch) {
		b.Ops = append(b.Ops, engine.NeedsOf(engine.Rules, 0, 2), x.lease(id, 1),
			engine.Op{Params: engine.Params{Alg: engine.Fixed, Limit: 1e9, Period: 1e15}, N: 5, Key: []byte("tokens")})
		b.Ops[0].Group = 3
		reservations.Reserve(b, 0, []byte(id), reservations.Terms{TTL: int64(ttl), Fixed: 1, Request: 7})
	})
	var reply reservations.Reply
	if err := reply.Read(&b.Calls[0]); err != nil {
		x.t.Fatal(err)
	}
	passed := reply.Decisions[1].Allowed == 1
	if passed != (free || repeats) || reply.Repeated != repeats {
		x.t.Fatalf("with %d of %d leases a request is allowed: %v, repeated: %v, want %v, %v", x.open(), leaseLimit, passed,
			reply.Repeated, free || repeats, repeats)
	}
	switch {
	case repeats:
		x.seen["repeated"]++
	case passed:
		x.ends[id], x.used[id] = x.now+ttl, true
		x.seen["reserved"]++
	default:
		x.seen["refused"]++
	}
	if left := x.ends[id]; passed && reply.Decisions[1].Reset.CeilMillis() < int64(left-x.now)/1e6 {
		x.t.Fatalf("the key of a lease for another %v ns resets in %v", left-x.now, reply.Decisions[1].Reset)
	}
}

// settle sends a commit, a cancel or an extension for any id.
func (x *borrower) settle() {
	id, ttl := fmt.Sprint(x.rng.IntN(9)), engine.Instant(1+x.rng.Int64N(20e9))
	how, actual := x.rng.IntN(3), x.rng.Int64N(9)
	b := x.apply(func(b *engine.Batch) {
		switch how {
		case 0:
			reservations.Commit(b, []byte(id), []int64{actual})
		case 1:
			reservations.Cancel(b, []byte(id))
		default:
			reservations.Extend(b, []byte(id), reservations.Extension{TTL: int64(ttl), Keep: reservations.Unchanged})
		}
	})
	_, rest, _ := answer.Next(b.Calls[0].Answer)
	done, _, _ := answer.TakeInt(rest)
	if isOpen := x.ends[id] > x.now; !isOpen {
		return
	} else if done != 1 {
		x.t.Fatalf("an open reservation is answered %q", b.Calls[0].Answer)
	}
	if x.ends[id] = x.now; how == 2 {
		x.ends[id] = x.now + ttl
	}
	x.seen[[]string{"committed", "canceled", "extended"}[how]]++
}

// check compares the leases in use with the model, for each holder.
func (x *borrower) check(what string) {
	x.t.Helper()
	b := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("streams")}}}
	x.e.Look(x.now, &b)
	used := int64(0)
	if d := &b.Decisions[0]; d.Status == engine.OK {
		used = d.Params.Limit - d.Remaining
	}
	if used != x.open() {
		x.t.Fatalf("after %s %d leases are in use, want %d", what, used, x.open())
	}
	if got, want := x.restored.Digest(x.now), x.e.Digest(x.now); got != want {
		x.t.Fatalf("after %s the digest of a node that starts from snapshots is %x, want %x", what, got, want)
	}
}

// TestLeases requires that exactly the open reservations hold a lease, and never more leases than the limit. A node
// that sweeps, and that starts from snapshots, must agree.
func TestLeases(t *testing.T) {
	seed := testwait.Seed(t)
	seen := map[string]int{}
	for run := range 60 {
		x := &borrower{newWorld(t, rand.New(rand.NewPCG(seed, uint64(run))), true), map[string]engine.Instant{},
			map[string]bool{}}
		for range 80 {
			x.now += engine.Instant(x.rng.Int64N(2e9))
			switch x.rng.IntN(8) {
			case 0, 1, 2:
				x.reserve()
				x.check("a reservation")
			case 3, 4:
				x.settle()
				x.check("a settlement")
			case 5:
				x.restore()
				x.check("a start from a snapshot")
			case 6:
				x.freeze()
				x.check("changes during a snapshot")
			default:
				x.now += engine.Instant(reservations.Remembered) + 40e9
				clear(x.used)
				x.check("a pause")
			}
		}
		for what, n := range x.seen {
			seen[what] += n
		}
	}
	for _, what := range []string{"reserved", "repeated", "refused", "committed", "canceled", "extended"} {
		if seen[what] < 10 {
			t.Errorf("%d reservations were %s", seen[what], what)
		}
	}
}

// freeze begins a snapshot, makes changes, and reads the snapshot. It must have the state before the changes.
func (x *borrower) freeze() {
	want := x.e.Digest(x.now)
	n := x.e.Freeze()
	defer n.Close()
	for range 8 {
		[]func(){x.reserve, x.settle}[x.rng.IntN(2)]()
	}
	if got := x.load(n).Digest(x.now); got != want {
		x.t.Fatalf("the snapshot of a state that has changed since has the digest %x, want %x", got, want)
	}
}
