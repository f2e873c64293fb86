package simtest

import (
	"bytes"

	"limitsrv/commands/reservations"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// committed returns the number of an answer that says that a reservation is committed.
func committed(data []byte) (n int64, ok bool) {
	v, rest, ok := answer.Next(data)
	if !ok || v.Kind != answer.Array || v.Len != 4 {
		return 0, false
	}
	_, rest, _ = answer.TakeInt(rest)
	state, rest, _ := answer.TakeBulk(rest)
	n, _, ok = answer.TakeInt(rest)
	return n, ok && string(state) == "committed"
}

// A reservationSeen is a reservation as clients know it.
type reservationSeen struct {
	key          string
	n            int64
	actual       int64
	made         bool           // perhaps
	settled      bool           // a client was answered so
	lack         bool           // the log may lack a call, or the id was evicted
	first, last  engine.Instant // when it was first settled, and last made, in the log
	wasCommitted bool           // in the log
}

// checkReservations finds reservations that do not count as they were committed, although a client was
// answered so, and reservations that count although no client has made them.
func (h *History) checkReservations() {
	seen := map[string]*reservationSeen{}
	for _, c := range h.Calls {
		for i := range c.Ops {
			op := &c.Ops[i]
			if op.Kind == engine.Do && bytes.HasPrefix(c.Calls[op.N].Args[0], []byte(reservationID)) {
				h.seeReservation(seen, c, i)
			}
		}
	}
	least, most, lack := map[string]int64{}, map[string]int64{}, map[string]bool{}
	for _, x := range seen {
		if x.made {
			low, high := int64(0), max(x.n, x.actual)
			if x.settled {
				low, high = x.actual, x.actual
			}
			least[x.key] += low
			most[x.key] += high
			// It was made again when its id was forgotten.
			again := x.wasCommitted && x.last > x.first+engine.Instant(reservations.Remembered)
			lack[x.key] = lack[x.key] || x.lack || again || h.Evicted[x.key]
		}
	}
	for key := range most {
		if used := h.used(key, onceLimit); !lack[key] && (used < least[key] || used > most[key]) {
			h.Fault("of %s %d are used at the end, want %d to %d by reservations", key, used, least[key], most[key])
		}
	}
}

// seeReservation notes op i of a call, on a reservation.
func (h *History) seeReservation(seen map[string]*reservationSeen, c *Call, i int) {
	bare := untagged(&c.Calls[c.Ops[i].N])
	id := string(bare.Args[0])
	x := seen[id]
	if x == nil {
		x = &reservationSeen{actual: actualOf(id)}
		seen[id] = x
	}
	x.lack = x.lack || c.MayLack || h.Evicted[id]
	made := false
	if ops := reservations.OpsOf(bare); len(ops) > 0 {
		x.key, x.n, made = string(ops[0].Key), ops[0].N, true
		x.made = x.made || c.Outcome != Refused
	}
	if a := c.Applied[i]; a != nil {
		if _, ok := committed([]byte(a.Answer)); ok && !x.wasCommitted {
			x.wasCommitted, x.first = true, a.Stamp
		} else if made {
			x.last = max(x.last, a.Stamp)
		}
	}
	if c.Outcome != Answered {
		return
	}
	if n, ok := committed([]byte(c.Answers[i])); ok {
		if x.settled = true; n != x.actual {
			h.Fault("call %d with id %s was answered that %d count, want %d", c.Number, id, n, x.actual)
		}
	}
}
