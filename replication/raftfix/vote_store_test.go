package raftfix

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
)

// Raft writes the term of a vote, and then its candidate: after a crash in between the
// previous vote is intact.
func TestVoteIsOneWrite(t *testing.T) {
	store := raft.NewInmemStore()
	v := NewVoteStore(store)
	vote := func(term uint64, candidate string) {
		t.Helper()
		if err := errors.Join(v.SetUint64(keyVoteTerm, term), v.Set(keyVoteCand, []byte(candidate))); err != nil {
			t.Fatal(err)
		}
	}
	reopened := func(term uint64, candidate string) {
		t.Helper()
		v = NewVoteStore(store)
		gotTerm, err := v.GetUint64(keyVoteTerm)
		if err != nil || gotTerm != term {
			t.Errorf("the term of the vote is %d, %v, want %d", gotTerm, err, term)
		}
		got, err := v.Candidate()
		if err != nil || string(got) != candidate {
			t.Errorf("the vote is for %q, %v, want %q", got, err, candidate)
		}
	}
	if _, err := v.GetUint64(keyVoteTerm); err == nil || err.Error() != "not found" { // as raft requires
		t.Errorf("there is a vote before the first: %v", err)
	}
	if err := v.Set(keyVoteCand, []byte("a")); err == nil {
		t.Error("a vote without a term is accepted")
	}
	vote(7, "first")
	vote(8, "second")
	reopened(8, "second")
	if err := v.SetUint64(keyVoteTerm, 9); err != nil {
		t.Fatal(err)
	}
	reopened(8, "second")
	if err := v.Set(keyVoteCand, []byte("a")); err == nil {
		t.Error("a vote without a term is accepted after a crash")
	}
	if err := errors.Join(v.SetTerm(12), v.Set([]byte("other"), []byte("x"))); err != nil {
		t.Fatal(err)
	}
	reopened(8, "second")
	if term, err := v.Term(); err != nil || term != 12 {
		t.Errorf("the current term is %d, %v", term, err)
	}
	if got, err := v.Get([]byte("other")); err != nil || string(got) != "x" {
		t.Errorf("another key has %q, %v", got, err)
	}
}

// A brokenStore fails all writes.
type brokenStore struct {
	raft.StableStore
	err error
}

func (s brokenStore) SetUint64([]byte, uint64) error { return s.err }

// The disk fails: failed is called, and once raft runs its goroutine ends.
func TestTimedVoteStore(t *testing.T) {
	for _, started := range []bool{false, true} {
		var failed error
		writing, broken := persist.NewDiskWatch().Stopwatch(), errors.New("the disk is broken")
		v := NewVoteStore(brokenStore{err: broken}).Timed(writing, func(err error) { failed = err })
		if started {
			v.SetStarted()
		}
		returned, ended := false, make(chan struct{})
		go func() {
			defer close(ended)
			v.SetUint64([]byte("CurrentTerm"), 1)
			returned = true
		}()
		<-ended
		if _, running := writing.Running(); !errors.Is(failed, broken) || returned == started || running {
			t.Errorf("started %v: failed(%v), returned: %v, under way: %v", started, failed, returned, running)
		}
	}
}
