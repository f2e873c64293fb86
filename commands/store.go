package commands

import "time"

// A Store keeps the state beyond the process: what SAVE, BGSAVE, RL.BACKUP,
// LASTSAVE and INFO ask for. Many may call at once, and no method waits for a disk.
//
// An *Error, or one with a Code, is told to the client as it is; any other one of
// Save and Backup as ERR with its text, since only an administrator sees it.
type Store interface {
	// Save begins a snapshot. done is called once, from any goroutine and perhaps
	// before Save returns, when it is on disk or has failed. An error says that none
	// was begun, and done is not called: ErrSaving where one is under way.
	Save(done func(error)) error
	// Backup is a Save into a directory of its own, of that name, whose path done is
	// told. The name is one that backupName accepts.
	Backup(name string, done func(path string, err error)) error
	// Standing costs no more than some loads and a lock that is held for moments.
	Standing() Standing
}

// ErrSaving is how a Store refuses a snapshot while one is under way.
var ErrSaving = &Error{"ERR", "Background save already in progress"}

// Standing is how a Store stands. Counts are of this process, unless they say
// otherwise. Its zero value is that of no store.
type Standing struct {
	// Fsync is when the log is synced: "always", "everysec" or "no"; empty: there is
	// no store.
	Fsync   string
	Loading LoadStanding
	Saved   SavedStanding
	Saving  SavingStanding
	Log     LogStanding
	// Failed is why decisions do not get to the disk as Fsync promises, since
	// FailedSince; nil: they do.
	Failed      error
	FailedSince time.Time
}

// LoadStanding is how much has been read of what was kept: of the snapshot's keys
// and of the log behind it. It stays when loading has ended.
type LoadStanding struct {
	Since                 time.Time
	Keys, AllKeys         int64
	LogBytes, AllLogBytes int64
}

// SavedStanding tells about the newest snapshot on disk, of an earlier process
// perhaps, and about the last attempt to make one.
type SavedStanding struct {
	At          time.Time // zero: there is none
	Keys, Bytes int64
	// Changes are the decisions that changed something since.
	Changes int64
	// Took is how long the last attempt took; 0: there was none.
	Took time.Duration
	// Err is why the last attempt failed; nil: it did not, or there was none.
	Err error
	// Count are the snapshots that succeeded.
	Count int64
}

// SavingStanding is how far a snapshot has got that is under way.
type SavingStanding struct {
	Since         time.Time // zero: none is
	Keys, AllKeys int64
	Bytes         int64
}

// LogStanding tells about the log.
type LogStanding struct {
	Bytes     int64 // on disk
	BaseBytes int64 // of those, what there was when the newest snapshot was taken
	Segments  int
	// Unsynced are the decisions that a power cut would take, and Lag is how long ago
	// the oldest of them was made.
	Unsynced int64
	Lag      time.Duration
	// Syncing says that a sync is under way; Delayed are those that took more than a
	// second.
	Syncing bool
	Delayed int64
}

// kept says whether there is a store.
func (h *Handler) hasStore() bool { return h.config.Store.Standing().Fsync != "" }

// NoStore keeps the state in memory only.
type NoStore struct{}

var errNoStore = &Error{"ERR", "nothing is saved: the server keeps its state in memory"}

// Save is refused.
func (NoStore) Save(func(error)) error { return errNoStore }

// Backup is refused.
func (NoStore) Backup(string, func(string, error)) error { return errNoStore }

// Standing is that of no store.
func (NoStore) Standing() Standing { return Standing{} }
