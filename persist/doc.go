// Package persist keeps the state of one node beyond its process: a log of what
// was decided, snapshots in Pebble, and recovery from both. It owns the data
// directory and the order of decisions on their way to the disk.
//
// It imports engine; Pebble for snapshots and, in tests, for file systems that
// crash, fail and hang; raft-wal for the log.
//
// # A data directory
//
//	IDENTITY    what the directory is, in which format, and the seed of its hashes
//	LOCK        held by the process that has it
//	BOOT        in which run of the system the log was last opened
//	STOPPED     how far the log was on disk when a server last ended in good order
//	log-000001  the log: segments of raft-wal, and META, which says which count
//	snapshots   a Pebble store with the rows of snapshots, and a record for each
//	            that is complete
//	backups     directories like this one, to be copied
//	BACKUP      in a backup: which state it holds; no server has started on it
//
// # Promises
//
//   - What a Store has answered after Commit survives the end of the process; under
//     Always, that of the machine. Under EverySecond a power cut takes at most what
//     was decided since the last sync, a second ago.
//   - A replay decides as it was decided: the order in the log is that of the
//     decisions, each has its stamp, and what was evicted is written down. The bound
//     on memory is not looked at while the state is loaded, as what was granted is
//     granted.
//   - Time after a restart is not before the last stamp.
//   - Whatever is on disk is checked before it is used: a checksum over each entry of
//     the log, each row of a snapshot, each small file, and counts over them all. What
//     is damaged is refused, with the name of the file, and nothing is changed. The
//     one exception is the end of the log, where the end of the process leaves the
//     begin of one write, and that of the machine anything in place of what was not on
//     disk: that is cut off and told, if nothing behind it shows that it had been there.
//   - A snapshot is of one moment, which is one place in the log, and is taken while
//     decisions go on. It counts when it is complete and on disk, and only then what
//     it replaces is removed.
//   - An fsync that has failed is never tried again. The Store says so, under Always
//     decides nothing, and begins a new log with a snapshot of the state in memory as
//     soon as the disk takes them.
//
// # Shape
//
// A Store is an Exec, and an order is how decisions and log follow on each other:
// logBehind decides first, logAhead has the log on disk first. What they share is
// the mutex that gives decisions their order, the baton of whoever appends to the
// log, and what goes on beside: watch, which notices a disk that hangs, and attend,
// which takes snapshots and mends.
//
// A Log is raft-wal over a file layer, a META, a codec and a recovery of our own:
// what those of raft-wal lack is a checksum on what is read, a policy of syncing, a
// rule for torn ends, and a META that is not a database. Its entries are those that
// a cluster will have.
//
// Snapshots open Pebble for what they do and close it again, since Pebble meets
// damage by ending the process, in goroutines of its own. A snapshot's rows come as
// whole tables in the order of the keys' hashes, so nothing is ever sorted, logged
// twice or compacted.
package persist
