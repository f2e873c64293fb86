// Package persist stores the state of a node on disk: a log of decisions, snapshots in
// Pebble, and recovery from both. It owns the data directory and the order in which
// decisions reach the disk.
//
//	o := persist.Options{Dir: "limits", FS: vfs.NewMem(), Policy: persist.EverySecond,
//		Clock: clock(1_750_000_000_000_000_000)}
//	limit := engine.Params{Alg: engine.Token, Limit: 2, Count: 1, Period: int64(time.Hour)}
//	for range 2 {
//		s, err := persist.Open(o)
//		if err != nil {
//			fmt.Println(err)
//			return
//		}
//		if err := s.Recover(context.Background()); err != nil {
//			fmt.Println(err)
//			return
//		}
//		b := &engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Key: []byte("user:42"), Params: limit, N: 1}}}
//		s.Exec(b, func(err error) {
//			if err != nil {
//				fmt.Println(err)
//			}
//		})
//		s.Commit() // from now on the decision survives
//		fmt.Println(b.Decisions[0].Allowed, b.Decisions[0].Remaining)
//		if err := s.Close(context.Background(), persist.SaveNever); err != nil {
//			fmt.Println(err)
//		}
//	}
//
// It imports engine, commit and fatal; Pebble for snapshots and, in tests, for file systems that
// crash, fail and hang; raft-wal for the log.
//
// # Data directory
//
//	IDENTITY    format of the directory, id of the node, seed of its hashes
//	LOCK        locked by the process that uses the directory
//	BOOT        boot id of the system at the last opening of the log
//	STOPPED     last entry of the log at the last clean shutdown
//	log-000001  the log: segments of raft-wal, and META, which lists the valid segments
//	snapshots   a Pebble store with the rows of snapshots, and a record for each
//	            complete snapshot
//	APPLYING    the entry that is being applied, mapped into memory
//	DEATHS      the entry that the last processes ended at
//	skipped-entry-N  an entry that the log skips, for the operator
//	backups     directories like this directory, to be copied
//	BACKUP      in a backup: origin of its state; removed when a server starts on it
//
// # Promises
//
//   - A decision that a Store has answered after Commit survives the end of the process
//     and, under Always, the end of the machine. Under EverySecond a power failure loses at
//     most the decisions since the last sync, a second ago.
//   - A replay makes the same decisions: log order is decision order, each batch has its
//     stamp, evicted keys are Forgets in the log, and Full forbids new keys. The memory
//     bound is not enforced while the state is loaded, because a granted permit stays
//     granted.
//   - Time after a restart is not before the last stamp.
//   - All data is verified before use: each log entry, snapshot row and small file has a
//     checksum, and the totals are checked as well. Damaged data is rejected with the name
//     of its file, and nothing is changed. The only exception is the end of the log. A
//     killed process leaves the first part of a write there, and a power failure any bytes
//     in place of unsynced bytes. That end is cut off and reported, unless later data
//     proves that it had been on disk.
//   - A snapshot is the state at a log index and is written while decisions continue. It is
//     valid once it is complete and on disk; only then is the data that it replaces
//     removed.
//   - No entry of the log keeps a node from starting. A process records the entry that it is
//     applying, so the next process can tell at which entry it ended, and an operator can skip it.
//   - A failed fsync is never retried. The Store reports the failure, rejects batches
//     under Always, and starts a new log with a snapshot of the state in memory as soon
//     as the disk accepts both.
//
// # Structure
//
// A Store executes batches through a pipeline, which logs groups of package commit and then
// applies them, or applies each batch and then logs its changes. mu orders decisions, and
// logMu entries. Two goroutines serve the disk: a DiskWatch detects that it hangs, and
// maintain takes snapshots and replaces a failed log.
//
// A Log is raft-wal with a file layer, META, codec and recovery of our own, because those
// of raft-wal lack checksums on reads, fsync policies, a rule for torn ends, and a META
// that needs no database. A cluster's log has the same entries.
//
// Snapshots opens Pebble for each operation and closes it again, because Pebble handles
// damage by ending the process from goroutines of its own. The rows of a snapshot are
// ingested as whole tables, sorted by key hash, so Pebble never sorts, logs or compacts
// them.
package persist
