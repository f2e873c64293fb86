package engine

import "encoding/binary"

// LookFor makes a Take with N = 0 look for n permits: if fewer are left, the decision has the Wait
// of a Take of n. It does not allocate for n = 1.
func (op *Op) LookFor(n int64) {
	if op.ID = one[:]; n != 1 {
		op.ID = binary.LittleEndian.AppendUint64(nil, uint64(n))
	}
}

// Looked returns the n of an op that LookFor has prepared; ok is false for any other op.
func (op *Op) Looked() (n int64, ok bool) {
	if op.Kind != Take || op.N > 0 || len(op.ID) != len(one) {
		return 0, false
	}
	return op.looksFor(), true
}

// one is the ID that LookFor(1) sets.
var one = [8]byte{1}

// looksFor returns the number of permits that an op with N = 0 looks for.
func (op *Op) looksFor() int64 {
	switch {
	case op.N > 0:
		return 0
	case op.Kind == Acquire:
		return 1
	case len(op.ID) == len(one):
		return int64(min(binary.LittleEndian.Uint64(op.ID), MaxN))
	}
	return 0
}

// unaged is the Instant for permits of a Refund with an unknown age.
const unaged Instant = -1

// age returns the nanoseconds from since to now, or 0 if since is unaged.
func age(now, since Instant) uint64 {
	if since == unaged {
		return 0
	}
	return uint64(now - since)
}

// ageBytes is the length in bytes of an age in Op.ID.
const ageBytes = 8

// SetAge limits a Refund to permits that were taken at most nanos nanoseconds ago. Requires: nanos
// >= 0. It allocates.
func (op *Op) SetAge(nanos int64) { op.ID = binary.LittleEndian.AppendUint64(nil, uint64(nanos)) }

// hasValidAge reports whether the ID of a Refund is empty or an age.
func (op *Op) hasValidAge() bool {
	return len(op.ID) == 0 || len(op.ID) == ageBytes && op.ID[ageBytes-1] < 0x80
}

// since returns the earliest time of the permits that a Refund may return, or unaged.
func (op *Op) since(now Instant) Instant {
	if len(op.ID) != ageBytes {
		return unaged
	}
	return max(0, now-Instant(binary.LittleEndian.Uint64(op.ID)))
}

// evicts is the N of a Forget that evicts.
const evicts = 1

// Evict returns a Forget that counts in Stats.Evicted.
func Evict(db uint8, key []byte) Op { return Op{Kind: Forget, DB: db, Key: key, N: evicts} }
