package backend

import (
	"limitsrv/commands/resp"
	"limitsrv/internal/status"
)

// A Store persists the state: SAVE, BGSAVE, RL.BACKUP, LASTSAVE and INFO use it.
//
// Concurrency: any number of goroutines may call its methods; no method blocks on a disk.
//
// Errors: an *resp.Error, or an error with a Code, is reported to the client unchanged. Any
// other error of Save and Backup is reported as ERR with its text, because only an
// administrator sees it.
type Store interface {
	// Save begins a snapshot. It calls done once, from any goroutine and perhaps before
	// Save returns, when the snapshot is on disk or has failed. If Save returns an error,
	// no snapshot was begun and done is not called: ErrSaving if a snapshot is in progress.
	Save(done func(error)) error
	// Backup is a Save into a directory of its own of that name, and passes its path to
	// done. Requires: backupName accepts the name.
	Backup(name string, done func(path string, err error)) error
	// Status returns the status. Cost: a few loads and a short lock.
	Status() status.Store
}

// ErrSaving is the error of a [Store] for a snapshot while another is in progress.
var ErrSaving = resp.NewError("ERR", "Background save already in progress")

// NoStore is the [Store] of a server that keeps its state in memory.
type NoStore struct{}

// ErrNoStore answers commands that need a Store.
var ErrNoStore = resp.NewError("ERR", "persistence is off: the server keeps its state in memory")

// Save is rejected.
func (NoStore) Save(func(error)) error { return ErrNoStore }

// Backup is rejected.
func (NoStore) Backup(string, func(string, error)) error { return ErrNoStore }

// Status returns the zero value.
func (NoStore) Status() status.Store { return status.Store{} }
