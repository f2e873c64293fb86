package engine

import "encoding/binary"

// The meaning of the fields N, DB and ID of an Op follows from its Kind, so that an Op is small.
// Only the functions of this file know a meaning other than permits, database of the key and holder:
//
//	kind            N                         DB      ID
//	Take, Acquire                                     the permits that a look is for
//	Refund                                            age of the permits
//	Forget          1 if it is an eviction
//	Flush           1 if it is of one database
//	Expect          fingerprint
//	Do              index in Batch.Calls
//	Learn           1 if it flushes                   text
//	Needs           version                   space

// Members returns the number of ops that are decided together with the op and include it: 1 unless it
// is the first op of a group.
func (op *Op) Members() int { return max(1, int(op.Group)) }

// Evict returns a Forget that counts in Stats.Evicted.
func Evict(db uint8, key []byte) Op { return Op{Kind: Forget, DB: db, Key: key, N: 1} }

// evicts reports whether a Forget is of Evict.
func (op *Op) evicts() bool { return op.N == 1 }

// FlushAll returns a Flush of all databases.
func FlushAll() Op { return Op{Kind: Flush} }

// FlushOf returns a Flush of one database.
func FlushOf(db uint8) Op { return Op{Kind: Flush, DB: db, N: 1} }

// IsFlushOf reports whether the op is of FlushOf.
func (op *Op) IsFlushOf() bool { return op.Kind == Flush && op.N == 1 }

// ExpectOf returns an Expect of the fingerprint of a key.
func ExpectOf(db uint8, key []byte, fingerprint int64) Op {
	return Op{Kind: Expect, DB: db, Key: key, N: fingerprint}
}

// Expected returns the fingerprint of an Expect.
func (op *Op) Expected() int64 { return op.N }

// NeedsOf returns a Needs of the version of a space, for a group of so many other members.
func NeedsOf(space Space, version uint64, members int) Op {
	return Op{Kind: Needs, DB: uint8(space), N: int64(version), Group: uint8(1 + members)}
}

// needed returns the arguments of NeedsOf for a Needs.
func (op *Op) needed() (space Space, version uint64) { return Space(op.DB), uint64(op.N) }

// call returns the index of the call of a Do.
func (op *Op) call() int { return int(op.N) }

// flushes reports whether a Learn without a text flushes all sources. Otherwise it drops them.
func (op *Op) flushes() bool { return op.N != 0 }

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
