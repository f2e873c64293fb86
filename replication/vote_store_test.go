package replication

import (
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/hashicorp/raft"
)

func openVotes(t *testing.T, path string) *voteStore {
	t.Helper()
	stable, err := openBolt(path)
	if err != nil {
		t.Fatal(err)
	}
	return &voteStore{StableStore: stable}
}

// Raft writes the term of a vote, and then its candidate: after a crash in between the
// previous vote is intact.
func TestVoteIsOneWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), votesName)
	v := openVotes(t, path)
	vote := func(term uint64, candidate string) {
		t.Helper()
		if err := errors.Join(v.SetUint64(keyVoteTerm, term), v.Set(keyVoteCand, []byte(candidate))); err != nil {
			t.Fatal(err)
		}
	}
	reopened := func(term uint64, candidate string) {
		t.Helper()
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		v = openVotes(t, path)
		gotTerm, err := v.GetUint64(keyVoteTerm)
		if err != nil || gotTerm != term {
			t.Errorf("the term of the vote is %d, %v, want %d", gotTerm, err, term)
		}
		got, err := v.Get(keyVoteCand)
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
	if err := errors.Join(v.SetUint64(keyCurrentTerm, 12), v.Set([]byte("other"), []byte("x"))); err != nil {
		t.Fatal(err)
	}
	reopened(8, "second")
	if term, err := v.GetUint64(keyCurrentTerm); err != nil || term != 12 {
		t.Errorf("the current term is %d, %v", term, err)
	}
	if got, err := v.Get([]byte("other")); err != nil || string(got) != "x" {
		t.Errorf("another key has %q, %v", got, err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
}

// A node's transport handles no heartbeats outside raft's main goroutine.
func TestHeartbeatsUseMainGoroutine(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, nil)
	handler := func(transport *raft.NetworkTransport) reflect.Value {
		return reflect.ValueOf(transport).Elem().FieldByName("heartbeatFn")
	}
	s := c.leader().stack.Load()
	if !handler(s.transport).IsNil() {
		t.Error("it has a handler for heartbeats")
	}
	s.transport.SetHeartbeatHandler(func(raft.RPC) {})
	if handler(s.transport).IsNil() {
		t.Error("the test does not see a handler")
	}
	s.transport.SetHeartbeatHandler(nil)
}
