package raftfix

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/hashicorp/raft"
)

// The keys of raft v1.7.3 for a node's term and vote, and our key for both parts of the
// vote.
var (
	keyCurrentTerm = []byte("CurrentTerm")
	keyVoteTerm    = []byte("LastVoteTerm")
	keyVoteCand    = []byte("LastVoteCand")
	keyVote        = []byte("Vote")
)

// A VoteStore is a StableStore that keeps the term and the candidate of the last vote in a
// single record. Raft writes them separately, and a crash in between would leave the
// candidate of an earlier vote with the new term: the node would then vote for that
// candidate again without comparing logs.
//
// Source: hashicorp/raft, issue 661.
type VoteStore struct {
	raft.StableStore
	term []byte // of a vote; its candidate is not set yet
}

// NewVoteStore returns a [VoteStore] that keeps its records in store.
func NewVoteStore(store raft.StableStore) *VoteStore { return &VoteStore{StableStore: store} }

// Term returns the node's current term. If it is not set, it returns the error of the
// store.
func (v *VoteStore) Term() (uint64, error) { return v.GetUint64(keyCurrentTerm) }

// SetTerm sets the node's current term. Requires: raft does not run.
func (v *VoteStore) SetTerm(term uint64) error { return v.SetUint64(keyCurrentTerm, term) }

// Candidate returns the candidate of the last vote. If there was no vote, it returns the
// error of the store.
func (v *VoteStore) Candidate() ([]byte, error) { return v.Get(keyVoteCand) }

// SetUint64 implements [raft.StableStore].
func (v *VoteStore) SetUint64(key []byte, n uint64) error {
	if !bytes.Equal(key, keyVoteTerm) {
		return v.StableStore.SetUint64(key, n)
	}
	v.term = binary.BigEndian.AppendUint64(nil, n)
	return nil
}

// Set implements [raft.StableStore].
func (v *VoteStore) Set(key, value []byte) error {
	if !bytes.Equal(key, keyVoteCand) {
		return v.StableStore.Set(key, value)
	}
	if v.term == nil {
		return errors.New("a vote without a term")
	}
	return v.StableStore.Set(keyVote, append(v.term, value...))
}

// Get implements [raft.StableStore].
func (v *VoteStore) Get(key []byte) ([]byte, error) {
	if !bytes.Equal(key, keyVoteCand) {
		return v.StableStore.Get(key)
	}
	vote, err := v.StableStore.Get(keyVote)
	if err != nil || len(vote) < 8 {
		return nil, err
	}
	return vote[8:], nil
}

// GetUint64 implements [raft.StableStore].
func (v *VoteStore) GetUint64(key []byte) (uint64, error) {
	if !bytes.Equal(key, keyVoteTerm) {
		return v.StableStore.GetUint64(key)
	}
	vote, err := v.StableStore.Get(keyVote)
	if err != nil || len(vote) < 8 {
		return 0, err
	}
	return binary.BigEndian.Uint64(vote), nil
}

// Close closes the store, if it can be closed.
func (v *VoteStore) Close() error {
	if c, ok := v.StableStore.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
