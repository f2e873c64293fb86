package simtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"limitsrv/commands/reservations"
	"limitsrv/commands/weighing"
	"limitsrv/engine"
)

const (
	// heldPrefix is the prefix of counters that only reservations use, and reservationID of their ids.
	heldPrefix    = "held:"
	reservationID = "reservation:"
)

// actualOf is the number that all clients commit of the reservation of an id.
func actualOf(id string) int64 { return int64(id[len(id)-1]-'0') * 13 / 9 }

// reserve adds a step of a new or a recent reservation. It ends only by a commit.
func (w *Workload) reserve(r *Request, rng *rand.Rand) {
	x := w.sendAgain(&w.reserved, heldPrefix, rng)
	id := fmt.Append(nil, reservationID, x.number)
	r.calls(0, func(b *engine.Batch) {
		switch rng.IntN(5) {
		case 0, 1:
			b.Ops = append(b.Ops, x.op)
			reservations.Reserve(b, 0, id, reservations.Terms{TTL: int64(rememberID), Request: uint64(x.number)})
		case 2:
			reservations.Extend(b, id, reservations.Extension{TTL: int64(rememberID), Keep: reservations.Unchanged})
		default:
			reservations.Commit(b, id, []int64{actualOf(string(id))})
		}
	})
}

// calls adds the call that build adds to a batch.
func (r *Request) calls(db uint8, build func(b *engine.Batch)) {
	var b engine.Batch
	build(&b)
	r.call(db, func(c *engine.Call) { *c = b.Calls[0] })
}

// onReservation returns a maker of a call on one of a few reservations, so that ids collide, and
// reservations expire and are settled.
func onReservation(build func(b *engine.Batch, id []byte, ttl, keep int64, rng *rand.Rand)) maker {
	return func(_ *Workload, r *Request, rng *rand.Rand) {
		id := fmt.Append(nil, everyPrefix, reservationID, rng.IntN(5))
		ttl := int64(time.Duration(1+rng.IntN(40)) * time.Second)
		keep := []int64{0, 1, reservations.KeepAll}[rng.IntN(3)]
		r.calls(uint8(rng.IntN(6)/5), func(b *engine.Batch) { build(b, id, ttl, keep, rng) })
	}
}

// reservationMakers are makers of the calls on reservations. Most calls reserve.
var reservationMakers = []maker{onReservation(everyReserve), onReservation(everyReserve), onReservation(everyReserve),
	reserveLease, reserveLease, reserveNamed, reserveNamed,
	onReservation(func(b *engine.Batch, id []byte, _, _ int64, rng *rand.Rand) {
		all := []weighing.Amount{{Name: []byte("in"), N: rng.Int64N(9)}, {Name: []byte("out"), N: rng.Int64N(9)}}
		reservations.CommitNamed(b, id, all[:1+rng.IntN(2)])
	}),
	onReservation(func(b *engine.Batch, id []byte, ttl, keep int64, rng *rand.Rand) {
		reservations.Extend(b, id, reservations.Extension{TTL: ttl, By: rng.Int64N(3), Keep: keep})
	}),
	onReservation(func(b *engine.Batch, id []byte, _, _ int64, rng *rand.Rand) {
		reservations.Commit(b, id, []int64{rng.Int64N(9)})
	}),
	onReservation(func(b *engine.Batch, id []byte, _, _ int64, _ *rand.Rand) { reservations.Cancel(b, id) }),
	onReservation(func(b *engine.Batch, id []byte, _, _ int64, _ *rand.Rand) { reservations.Reserved(b, id) }),
	onReservation(func(b *engine.Batch, _ []byte, _, _ int64, rng *rand.Rand) {
		reservations.ReservedOf(b, everyTake(rng).Key, rng.Int64N(3), 1+rng.Int64N(9))
	}),
}

func everyReserve(b *engine.Batch, id []byte, ttl, keep int64, rng *rand.Rand) {
	for range 1 + rng.IntN(3) {
		op := everyTake(rng)
		op.DB = 0
		if !slices.ContainsFunc(b.Ops, func(other engine.Op) bool { return string(other.Key) == string(op.Key) }) {
			b.Ops = append(b.Ops, op)
		}
	}
	reservations.Reserve(b, 0, id, reservations.Terms{TTL: ttl, Keep: keep, Partial: rng.IntN(2) == 0,
		Fixed: rng.Uint64N(8), Request: rng.Uint64N(2)})
}

// reserveLease adds a reservation by rules with a lease, under an id of onReservation.
func reserveLease(w *Workload, r *Request, rng *rand.Rand) {
	onReservation(func(b *engine.Batch, id []byte, ttl, keep int64, rng *rand.Rand) {
		lease, take := everyAcquire(rng), everyTake(rng)
		take.DB, lease.ID = 0, id
		b.Ops = append(b.Ops, w.needs(), lease, take)
		reservations.Reserve(b, 0, id, reservations.Terms{TTL: ttl, Keep: keep, Fixed: 1, Request: rng.Uint64N(2)})
	})(w, r, rng)
}

// reserveNamed adds a reservation by rules with named amounts, under an id of onReservation.
func reserveNamed(w *Workload, r *Request, rng *rand.Rand) {
	onReservation(func(b *engine.Batch, id []byte, ttl, keep int64, rng *rand.Rand) {
		take := everyTake(rng)
		take.DB = 0
		b.Ops = append(b.Ops, w.needs(), take)
		reservations.Reserve(b, 0, id, reservations.Terms{TTL: ttl, Keep: keep, Request: rng.Uint64N(2),
			Names:   [][]byte{[]byte("in"), []byte("out")},
			Weights: []reservations.Weight{{Name: 0, Millionths: 500_000}, {Name: 1, Millionths: 1_500_000}}})
	})(w, r, rng)
}
