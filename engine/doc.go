// Package engine makes all decisions. It owns the operations, the algorithms, the state
// of every key, the table that holds the keys, and the rule of time.
//
//	e := engine.New(engine.Options{})
//	limit := engine.Params{Alg: engine.Token, Limit: 2, Count: 1, Period: int64(time.Second)}
//	b := new(engine.Batch)
//	for range 3 {
//		b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Key: []byte("user:42"), Params: limit, N: 1})
//	}
//	e.Apply(1_750_000_000_000_000_000, b) // nanoseconds since the Unix epoch
//	for _, d := range b.Decisions {
//		fmt.Println(d.Allowed, d.Remaining, d.Wait.CeilMillis())
//	}
//
// It has no clock, randomness, goroutine, log or I/O. Apply is a function of the state,
// the given time and the batch: the same batches at the same times give the same
// decisions.
//
// The owner gives the commands on plain values, see [Commands].
//
// # Files
//
// The files form layers. A file uses its own layer and the layers before it.
//
//   - Ops and their answers: op, op_fields, decision, span, params.
//   - Algorithms, on a key in a cell: algorithms, a file for each, past, plain, contents.
//   - Texts: sources, documents, text_blocks.
//   - The table of a shard: shard, page, slab, directory, memory, decide, freeze.
//   - Batches on shards: engine, batch, group, call, tx.
//   - Methods of Engine and Tx that no layer needs: keys, texts, top, tx_keys, load, replay, room.
//
// # Promises
//
//   - Time never runs backwards for a key. A shard keeps the latest time it has seen and
//     never decides at an earlier time. No algorithm handles a clock.
//   - A fully reset key equals a key never seen, under any later parameters. Forgetting
//     it therefore changes no decision, needs no log entry, and may happen at any time,
//     in steps of any size.
//   - Arithmetic is exact, in integers. Replies are rounded against the caller: times up,
//     counts down.
//   - Only Apply, Sweep, SweepExpired, MakeRoom, Load, Clear and SetTime change state and time. All
//     changes of Apply follow from the ops marked Changed: applying only these at the same
//     times gives the same state. Sweeps and read-only calls need not be repeated.
//   - Freeze is a view of all keys at a single moment, read while decisions continue. Load
//     restores the same state from it, in an engine with any number of shards. Load takes
//     arbitrary bytes and accepts only a state that could have occurred.
//   - Stats and Top are informational: they affect no decision and are in no Snapshot.
//   - A denial consumes nothing, but a refused group strikes the boxes of its guards. New parameters
//     of a denied op stay in force, because its waiting time was computed under them.
//   - Changed parameters grant nothing extra: no sequence of calls is granted more than one
//     key would grant under the highest of the limits and the fastest of the rates or the
//     shortest of the windows. Permits used stay used, also above a lower limit, until the
//     later of the ends of two windows. The time when a bucket is full is kept exactly.
//
// # Memory
//
// One rule decides about memory, between batches: see [Bound]. Evictions are ops, and a batch that
// must not create keys is Full, so that both stand in logs. A batch that is Full still adds entries
// to existing LOG and LEASE keys: logs of all versions contain such batches, and the memory of an
// entry differs between nodes with equal states, so that no op of a log can depend on it. Outside
// of clusters [Engine.SetBackstop] bounds these entries, and rejects the ops that would exceed it.
package engine
