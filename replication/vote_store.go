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

// The keys of raft v1.7.3 for the term and the vote of a node, and ours for both of
// the vote in one.
var (
	keyCurrentTerm = []byte("CurrentTerm")
	keyVoteTerm    = []byte("LastVoteTerm")
	keyVoteCand    = []byte("LastVoteCand")
	keyVote        = []byte("Vote")
)

// votes is a StableStore that has the term and the candidate of the last vote in
// one record. Raft writes them one after the other, and between them a crash would
// leave the vote of an earlier term with the new one: for whom this node voted in
// that term it would vote again without looking at the log.
//
// Source: hashicorp/raft, issue 661.
type voteStore struct {
	raft.StableStore
	term []byte // of a vote whose candidate is still to come
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

// openBolt opens the file of a StableStore. Its writes are always synced; the list
// of its free pages is found again at a start and not written.
func openBolt(path string) (raft.StableStore, error) {
	return raftboltdb.New(raftboltdb.Options{
		Path:        path,
		BoltOptions: &bbolt.Options{NoFreelistSync: true, FreelistType: bbolt.FreelistMapType},
	})
}
