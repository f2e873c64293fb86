// Package datatypes has the commands on plain values, as Redis 7.2 has them: one table, a
// file for each family of commands. Each command is a call of the engine: it sees the state
// only through an engine.Tx and answers in the form of package answer. The texts of answers
// and errors, and the order of checks, are Redis'.
//
// It imports engine and answer. It has no clock, randomness, lock or I/O: the effects of a
// command depend only on its arguments, the keys that it may touch, the time of its batch and
// the level of meaning. A correction of a command that is in use asks for the level.
//
// # Where it differs from Redis
//
//   - A key has 1 to engine.MaxKeyBytes bytes, a string at most engine.MaxValueBytes.
//   - Limits are keys as well. DEL, EXISTS, TTL, TYPE, RENAME and SET work on them as on any
//     type; the commands of strings, EXPIRE and PERSIST answer WRONGTYPE.
//   - If memory is full, a command that makes no key and no longer value still works.
package datatypes
