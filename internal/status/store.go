// Package status has the status of a node. Packages persist and replication report it;
// packages commands and server/admin show it.
package status

import "time"

// Store is the status of the log and the snapshots of a node. Counts are of this process
// unless noted. Its zero value is the status of a node that stores nothing.
type Store struct {
	// Fsync is the sync policy of the log: "always", "everysec" or "no"; empty: no store.
	Fsync   string
	Loading Load
	Saved   Snapshot
	Saving  Save
	Log     Log
	// Failed is the reason that decisions do not reach the disk as Fsync promises, since
	// FailedSince; nil: they do.
	Failed      error
	FailedSince time.Time
}

// Load is the progress of loading: of the snapshot's keys and of the log after
// it. It stays when loading has ended.
type Load struct {
	Since                 time.Time
	Keys, AllKeys         int64
	SnapshotBytes         int64 // in total, before compression
	LogBytes, AllLogBytes int64
	Entries, AllEntries   int64 // of the log
}

// keyWork is the number of bytes of the log that are applied in the time of loading a key,
// as measured.
const keyWork = 6

// Share returns the share of the work that is done, from 0 to 1. Until the log is opened
// it counts only the full segments of the log.
func (l Load) Share() float64 {
	all := float64(l.AllKeys)*keyWork + float64(l.AllLogBytes)
	done := float64(l.Keys) * keyWork
	if l.AllEntries > 0 {
		done += float64(l.AllLogBytes) * float64(l.Entries) / float64(l.AllEntries)
	}
	if all == 0 {
		return 0
	}
	return min(done/all, 1)
}

// Left returns the time that the rest of the work takes if it goes on as it did since the
// start, or 0 before the first progress.
func (l Load) Left(now time.Time) time.Duration {
	share := l.Share()
	if share == 0 {
		return 0
	}
	return time.Duration(float64(now.Sub(l.Since)) * (1/share - 1))
}

// Snapshot describes the newest snapshot on disk, perhaps of an earlier process, and the
// last attempt to make a snapshot.
type Snapshot struct {
	At          time.Time // zero: no snapshot
	Keys, Bytes int64
	// Changes counts the changing decisions since.
	Changes int64
	// Took is the duration of the last attempt; 0: there was no attempt.
	Took time.Duration
	// Err is the error of the last attempt; nil: it succeeded, or there was no attempt.
	Err error
	// Count is the number of snapshots that succeeded.
	Count int64
}

// Save is the progress of a snapshot.
type Save struct {
	Since         time.Time // zero: no snapshot in progress
	Keys, AllKeys int64
	Bytes         int64
}

// Log describes the log.
type Log struct {
	Bytes     int64 // on disk
	BaseBytes int64 // of those, bytes that existed when the newest snapshot was taken
	Segments  int
	// Unsynced counts the decisions that a power cut would lose; Lag is the age of the
	// oldest.
	Unsynced int64
	Lag      time.Duration
	// Syncing reports a sync in progress; Delayed counts syncs that took more than a
	// second.
	Syncing bool
	Delayed int64
}
