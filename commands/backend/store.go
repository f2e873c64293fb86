package backend

import (
	"time"

	"limitsrv/commands/resp"
)

// A Store persists the state: SAVE, BGSAVE, RL.BACKUP, LASTSAVE and INFO use it.
//
// Concurrency: any number of goroutines may call its methods; none blocks on a disk.
//
// Errors: an *resp.Error, or one with a Code, is reported to the client unchanged. Any other
// error of Save and Backup is reported as ERR with its text, because only an
// administrator sees it.
type Store interface {
	// Save begins a snapshot. It calls done once, from any goroutine and perhaps before
	// Save returns, when the snapshot is on disk or has failed. If Save returns an error,
	// no snapshot was begun and done is not called: ErrSaving if one is in progress.
	Save(done func(error)) error
	// Backup is a Save into a directory of its own of that name, and passes its path to
	// done. Requires: backupName accepts the name.
	Backup(name string, done func(path string, err error)) error
	// Standing returns the status. Cost: a few loads and a short lock.
	Standing() Standing
}

// ErrSaving is the error of a Store for a snapshot while one is in progress.
var ErrSaving = resp.NewError("ERR", "Background save already in progress")

// Standing is the status of a Store. Counts are of this process unless noted. Its zero
// value is the status of NoStore.
type Standing struct {
	// Fsync is the sync policy of the log: "always", "everysec" or "no"; empty: no store.
	Fsync   string
	Loading LoadStanding
	Saved   SavedStanding
	Saving  SavingStanding
	Log     LogStanding
	// Failed is the reason that decisions do not reach the disk as Fsync promises, since
	// FailedSince; nil: they do.
	Failed      error
	FailedSince time.Time
}

// LoadStanding is the progress of loading: of the snapshot's keys and of the log after
// it. It stays when loading has ended.
type LoadStanding struct {
	Since                 time.Time
	Keys, AllKeys         int64
	LogBytes, AllLogBytes int64
}

// SavedStanding describes the newest snapshot on disk, perhaps of an earlier process, and
// the last attempt to make one.
type SavedStanding struct {
	At          time.Time // zero: no snapshot
	Keys, Bytes int64
	// Changes counts the changing decisions since.
	Changes int64
	// Took is the duration of the last attempt; 0: there was none.
	Took time.Duration
	// Err is the error of the last attempt; nil: it succeeded, or there was none.
	Err error
	// Count is the number of snapshots that succeeded.
	Count int64
}

// SavingStanding is the progress of a snapshot.
type SavingStanding struct {
	Since         time.Time // zero: none in progress
	Keys, AllKeys int64
	Bytes         int64
}

// LogStanding describes the log.
type LogStanding struct {
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

// NoStore is the Store of a server that keeps its state in memory.
type NoStore struct{}

// ErrNoStore answers commands that need a Store.
var ErrNoStore = resp.NewError("ERR", "persistence is off: the server keeps its state in memory")

// Save is rejected.
func (NoStore) Save(func(error)) error { return ErrNoStore }

// Backup is rejected.
func (NoStore) Backup(string, func(string, error)) error { return ErrNoStore }

// Standing returns the zero Standing.
func (NoStore) Standing() Standing { return Standing{} }
