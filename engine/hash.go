package engine

import (
	"encoding/binary"
	"math/bits"
)

// A hashKey is the secret key of the hash of keys and holders: without it, keys that
// collide in a shard or page can not be constructed.
type hashKey struct{ k0, k1 uint64 }

func hashKeyOf(seed [16]byte) hashKey {
	return hashKey{binary.LittleEndian.Uint64(seed[:]), binary.LittleEndian.Uint64(seed[8:])}
}

// derive returns a second key derived from the first.
func (k hashKey) derive() hashKey {
	return hashKey{k.sum([]byte("0")), k.sum([]byte("1"))}
}

// sum returns the SipHash-1-3 of b.
//
// Source: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", 2012,
// with one round per word and three at the end, as in Rust's standard library.
func (k hashKey) sum(b []byte) uint64 {
	v0, v1 := k.k0^0x736f6d6570736575, k.k1^0x646f72616e646f6d
	v2, v3 := k.k0^0x6c7967656e657261, k.k1^0x7465646279746573
	last := uint64(len(b)) << 56
	for len(b) >= 8 {
		m := binary.LittleEndian.Uint64(b)
		v3 ^= m
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= m
		b = b[8:]
	}
	for i, c := range b {
		last |= uint64(c) << (8 * i)
	}
	v3 ^= last
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0 ^= last
	v2 ^= 0xff
	for range 3 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	return v0 ^ v1 ^ v2 ^ v3
}

func sipRound(v0, v1, v2, v3 uint64) (uint64, uint64, uint64, uint64) {
	v0 += v1
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v0 = bits.RotateLeft64(v0, 32)
	v2 += v3
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 += v3
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	v2 += v1
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v2 = bits.RotateLeft64(v2, 32)
	return v0, v1, v2, v3
}

// A key's hash, sumIn of its database, gives its shard in the upper bits. Within a shard it
// is used without these bits, and with the database in the lower 4 bits, which locate
// nothing: the code that finds a record by such a hash compares the database as well.
const (
	dbBits = 4
	dbMask = 1<<dbBits - 1
)

// sumIn returns the hash of a key of a database. In database 0 it is sum.
func (k hashKey) sumIn(db uint8, key []byte) uint64 {
	return k.sum(key) ^ uint64(db)*0x9e3779b97f4a7c15
}

// tailored removes the upper bits, of the shard's number, from a hash and adds the
// database.
func tailored(sum uint64, bits, db uint8) uint64 { return sum<<bits&^dbMask | uint64(db) }

// dbOf returns the database of a hash without the bits of the shard's number.
func dbOf(h uint64) uint8 { return uint8(h & dbMask) }

// locate returns the number of a key's shard, and its hash without the bits of that.
func (e *Engine) locate(db uint8, key []byte) (shard uint16, h uint64) {
	sum := e.key.sumIn(db, key)
	return e.shardOf(sum), tailored(sum, e.bits, db)
}

// shardOf returns the number of the shard of a hash of sumIn.
func (e *Engine) shardOf(sum uint64) uint16 { return uint16(sum >> (64 - e.bits)) }
