// Package engine decides. It owns the operations, the algorithms, the state of
// every key, the table that holds the keys, and the rule of time.
//
// It has no clock, no randomness, no goroutine, no log and no I/O: Apply is a
// function of the state, the time that it is given and the batch. Whoever calls
// it with the same batches at the same times gets the same decisions.
//
// It imports the standard library only.
//
// # Promises
//
//   - Time never runs backwards for a key. A shard keeps the latest time that it
//     has seen and decides no earlier than that; no algorithm handles a clock.
//   - A key that is fully reset equals a key never seen, under any later parameters.
//     So forgetting it changes no decision, needs no log entry, and may be done at any
//     time, in steps of any size.
//   - Arithmetic is exact, in integers. What is answered is rounded against the
//     caller: times up, counts down.
//   - State and time change by Apply, Sweep, Load and SetTime only. Whatever Apply
//     changed follows from the ops that are marked Changed and from Evicted: who
//     applies these alone, at the same times, has the same state. Sweep and what
//     only reads need not be repeated.
//   - Freeze is a view of all keys at one moment, which is read out while decisions
//     go on. Load makes the same state of it, in an engine of any number of shards.
//     It takes any bytes: what it accepts is a state that could have been.
//   - What only tells, Stats and Top, decides nothing and is in no Snapshot.
//   - A refusal consumes nothing. If it came with new parameters these hold from
//     then on, or the waiting time that it was answered with would be wrong.
//   - Changed parameters give nothing away: no sequence of calls is granted more than
//     one key would grant under the highest of the limits and the fastest of the rates
//     or the shortest of the windows. The permits used are kept, also above a
//     lower limit, until the later of the ends of two windows; the time at which a bucket
//     is full is kept exactly.
package engine
