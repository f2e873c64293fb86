package engine

import "limitsrv/engine/siphash"

// A key's hash, sumIn of its database, gives its shard in the upper bits. Within a shard it
// is used without these bits, and with the database in the lower 4 bits, which locate
// nothing: the code that finds a record by such a hash compares the database as well.
const (
	dbBits = 4
	dbMask = 1<<dbBits - 1
)

// sumIn returns the hash of a key of a database. In database 0 it is k.Sum.
func sumIn(k siphash.Key, db uint8, key []byte) uint64 {
	return k.Sum(key) ^ uint64(db)*0x9e3779b97f4a7c15
}

// tailored removes the upper bits, of the shard's number, from a hash and adds the
// database.
func tailored(sum uint64, bits, db uint8) uint64 { return sum<<bits&^dbMask | uint64(db) }

// dbOf returns the database of a hash without the bits of the shard's number.
func dbOf(h uint64) uint8 { return uint8(h & dbMask) }
