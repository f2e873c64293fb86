package simtest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"limitsrv/engine"
)

const (
	// windowMillis is the length of the windows that clients make of INCR and PEXPIRE, and
	// of locks.
	windowMillis = 15_000
	windowPrefix = "window:"
	lockPrefix   = "lock:"
	plainPrefix  = "number:"
	flushed      = 7 // the database that clients flush
)

// window makes it a request of a window: atomic, because a number without an expiry would
// never be reset.
func (r *Request) window(rng *rand.Rand) {
	key, db := fmt.Sprint(windowPrefix, rng.IntN(3)), uint8(rng.IntN(2))
	r.do(db, "INCR", key)
	r.do(db, "PEXPIRE", key, strconv.Itoa(windowMillis), "NX")
	r.Atomic = true
}

// count adds a command on a number without an expiry: an INCR, INCRBY or GET.
func (w *Workload) count(r *Request, rng *rand.Rand) {
	slot := &w.plain[rng.IntN(len(w.plain))]
	slot.next(w, rng, plainPrefix)
	switch n := rng.Int64N(4); n {
	case 0:
		r.do(slot.db, "GET", slot.key)
	case 1:
		r.do(slot.db, "INCR", slot.key)
	default:
		r.do(slot.db, "INCRBY", slot.key, strconv.FormatInt(n, 10))
	}
}

// plain adds a command on one of a few other keys, in one of three databases.
func (r *Request) plain(rng *rand.Rand) {
	key := func() string { return fmt.Sprint("plain:", rng.IntN(4)) }
	db := []uint8{0, 1, flushed}[rng.IntN(3)]
	switch rng.IntN(40) {
	case 0:
		r.Ops = append(r.Ops, engine.Op{Kind: engine.Flush, N: 1, DB: flushed})
	case 1, 2, 3, 4, 5, 6, 7:
		r.do(db, "SET", key(), plainValue(rng))
	case 8, 9, 10:
		r.do(db, "SET", key(), plainValue(rng), "PX", strconv.Itoa(1+rng.IntN(2*windowMillis)))
	case 11, 12, 13, 14, 15, 16, 17, 18:
		r.do(0, "SET", fmt.Sprint(lockPrefix, rng.IntN(3)), "held", "NX", "PX", strconv.Itoa(windowMillis))
	case 19, 20, 21, 22:
		r.do(db, "GET", key())
	case 23, 24, 25:
		r.do(db, "DEL", key(), key())
	case 26, 27, 28:
		r.do(db, "RENAME", key(), key())
	case 29, 30, 31:
		r.do(db, "MGET", key(), key())
	case 32, 33, 34:
		r.do(db, "APPEND", key(), plainValue(rng))
	case 35, 36:
		r.do(db, "SETRANGE", key(), strconv.Itoa(rng.IntN(60)), plainValue(rng))
	case 37:
		r.do(db, "PTTL", key())
	default:
		r.do(db, "INCRBYFLOAT", key(), "0.1")
	}
}

// plainValue returns a value of any row.
func plainValue(rng *rand.Rand) string {
	if rng.IntN(3) == 0 {
		return strconv.Itoa(rng.IntN(1000))
	}
	return strings.Repeat(string(rune('a'+rng.IntN(26))), 1+rng.IntN(90)*rng.IntN(2))
}
