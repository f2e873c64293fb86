package replication

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"limitsrv/replication/raftfix"
)

// The machine crashes before, between and after raft's writes of a vote, and the disk fails
// at each: afterwards the vote is completely the old or the new vote.
func TestVotes(t *testing.T) {
	for writes := range 3 { // number of successful writes
		for _, fails := range []bool{false, true} {
			disk := newSimDisk()
			stable, _, _ := disk.open("/raft")
			v := raftfix.NewVoteStore(stable)
			vote := func(term uint64, candidate string, writes int) {
				for i, write := range []func() error{
					func() error { return v.SetUint64([]byte("LastVoteTerm"), term) },
					func() error { return v.Set([]byte("LastVoteCand"), []byte(candidate)) },
				} {
					if !fails && i == writes {
						return
					}
					if err := write(); err != nil {
						return // raft goes no further
					}
				}
			}
			vote(1, "a", 2)
			if fails {
				disk.Fault.FailWrites(writes, syscall.EIO)
			}
			vote(2, "b", writes)
			stable, _, _ = disk.crashed(0, rand.New(rand.NewPCG(1, 1))).open("/raft")
			v = raftfix.NewVoteStore(stable)
			term, err := v.GetUint64([]byte("LastVoteTerm"))
			candidate, err2 := v.Candidate()
			old := term == 1 && string(candidate) == "a"
			if isNew := term == 2 && string(candidate) == "b"; err != nil || err2 != nil || !old && !isNew {
				t.Errorf("after %d writes, disk fails %v: the vote is for %q in term %d, %v, %v", writes, fails, candidate, term,
					err, err2)
			} else if writes == 2 && !isNew || writes == 0 && !old {
				t.Errorf("after %d writes, disk fails %v: the vote is of term %d", writes, fails, term)
			}
		}
	}
}
