package storage

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"

	"limitsrv/replication/raftfix"
)

// ReadVotes reads the term of the member with files in dir, and its vote, and changes
// nothing. Bolt trusts the contents of its file,
// and may panic or fault on damage.
func ReadVotes(dir string) (term uint64, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it can't be read: %v", p)
		}
	}()
	store, err := raftboltdb.New(raftboltdb.Options{Path: filepath.Join(dir, VotesName),
		BoltOptions: &bbolt.Options{ReadOnly: true, Timeout: time.Second}})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	v := raftfix.NewVoteStore(store)
	if _, err = v.Candidate(); err == nil || errors.Is(err, raftboltdb.ErrKeyNotFound) {
		term, err = v.Term()
	}
	if errors.Is(err, raftboltdb.ErrKeyNotFound) { // no vote was cast yet
		return 0, nil
	}
	return term, err
}

// AllSnapshots opens the snapshots of the member with files in dir, to read them.
func AllSnapshots(dir string) (raft.SnapshotStore, error) {
	return newSnapshotStore(vfs.Default, filepath.Join(dir, SnapshotsName), retained+1, func() error { return nil },
		hclog.NewNullLogger())
}
