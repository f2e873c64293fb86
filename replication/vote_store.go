package replication

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// The keys of raft v1.7.3 for a node's term and vote, and our key for both parts of the
// vote.
var (
	keyCurrentTerm = []byte("CurrentTerm")
	keyVoteTerm    = []byte("LastVoteTerm")
	keyVoteCand    = []byte("LastVoteCand")
	keyVote        = []byte("Vote")
)

// A voteStore is a StableStore that keeps the term and the candidate of the last vote in
// one record. Raft writes them one after the other, and a crash in between would leave the
// candidate of an earlier vote with the new term: the node would then vote for that
// candidate again without comparing logs.
//
// Source: hashicorp/raft, issue 661.
type voteStore struct {
	raft.StableStore
	term []byte // of a vote; its candidate is not set yet
}

func (v *voteStore) SetUint64(key []byte, n uint64) error {
	if !bytes.Equal(key, keyVoteTerm) {
		return v.StableStore.SetUint64(key, n)
	}
	v.term = binary.BigEndian.AppendUint64(nil, n)
	return nil
}

func (v *voteStore) Set(key, value []byte) error {
	if !bytes.Equal(key, keyVoteCand) {
		return v.StableStore.Set(key, value)
	}
	if v.term == nil {
		return errors.New("a vote without a term")
	}
	return v.StableStore.Set(keyVote, append(v.term, value...))
}

func (v *voteStore) Get(key []byte) ([]byte, error) {
	if !bytes.Equal(key, keyVoteCand) {
		return v.StableStore.Get(key)
	}
	vote, err := v.StableStore.Get(keyVote)
	if err != nil || len(vote) < 8 {
		return nil, err
	}
	return vote[8:], nil
}

func (v *voteStore) GetUint64(key []byte) (uint64, error) {
	if !bytes.Equal(key, keyVoteTerm) {
		return v.StableStore.GetUint64(key)
	}
	vote, err := v.StableStore.Get(keyVote)
	if err != nil || len(vote) < 8 {
		return 0, err
	}
	return binary.BigEndian.Uint64(vote), nil
}

func (v *voteStore) Close() error {
	if c, ok := v.StableStore.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// openBolt opens the file of a StableStore. Writes are always synced; the list of free
// pages is rebuilt at each start and not written.
func openBolt(path string) (raft.StableStore, error) {
	return raftboltdb.New(raftboltdb.Options{
		Path:        path,
		BoltOptions: &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
	})
}
