package fsm

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
)

// A node that skips an entry, and another that applies it, find that they differ: by the effects that
// the leader states, whichever of them leads, and by the entries that the leader reports. Nodes that
// skip the same entry agree, also after a snapshot.
func TestSkippedEntries(t *testing.T) {
	instead, err := SkippedEntry()
	if err != nil {
		t.Fatal(err)
	}
	for calls, has := range map[string]func(i int) bool{
		"no call but the first":    func(i int) bool { return i < 3 },
		"calls":                    func(int) bool { return true },
		"calls after a limit":      func(i int) bool { return i != 5 },
		"limits after a last call": func(i int) bool { return i <= 5 },
	} {
		for _, leads := range []bool{false, true} { // the node that skips
			name := fmt.Sprintf("%s, the leader skips %v", calls, leads)
			stated := statedLog{leader: newWriterFSM("", nil), lag: make([]persist.Effects, 1)}
			var found [3]*DivergedError
			follower := func(i int) *FSM { return newWriterFSM("", func(err *DivergedError) { found[i] = err }) }
			same, other, restored := follower(0), follower(1), follower(2)
			for i := 1; i <= 8; i++ {
				key := ""
				if has(i) {
					key = fmt.Sprint("key ", i)
				}
				if i == 5 {
					skip := &raft.Log{Index: 5, Data: instead}
					if leads {
						stated.next(key) // its index
						stated.leader = newWriterFSM("", nil)
						if err := restore(stated.leader, snapshotOf(t, same)); err != nil {
							t.Fatal(err)
						}
						stated.leader.Apply(skip)
						stated.lag = []persist.Effects{stated.leader.Effects()}
						same.Apply(skip)
						other.Apply(entryAlone(key))
					} else {
						l := stated.next(key)
						same.Apply(l)
						other.Apply(skip)
					}
					if err := restore(restored, snapshotOf(t, same)); err != nil {
						t.Fatal(err)
					}
					continue
				}
				l := stated.next(key)
				for _, f := range []*FSM{same, other} {
					f.Apply(&raft.Log{Index: l.Index, Data: bytes.Clone(l.Data)})
				}
				if i > 5 {
					restored.Apply(l)
				}
			}
			leader := stated.leader.Skips()
			for i, f := range []*FSM{same, other, restored} {
				byEffects := found[i] != nil
				f.Compare(leader)
				if wrong := i == 1; (found[i] != nil) != wrong || f.Diverged() != wrong || has(8) && byEffects != wrong {
					t.Errorf("%s: follower %d: %v, by its effects: %v", name, i, found[i], byEffects)
				}
			}
			if want := map[bool][]uint64{true: {5}, false: nil}[leads]; !slices.Equal(leader.Entries, want) ||
				!slices.Equal(restored.Skips().Entries, want) {
				t.Errorf("%s: skipped are %v and, after a snapshot, %v, want %v", name, leader.Entries, restored.Skips().Entries,
					want)
			}
		}
	}
}

// entryAlone returns entry 5 of a key, without a statement.
func entryAlone(key string) *raft.Log {
	s := statedLog{leader: newWriterFSM("", nil), lag: make([]persist.Effects, 1), index: 4}
	return s.next(key)
}

// The list of skipped entries is bounded, and a leader that does not report it is not compared.
func TestManySkippedEntries(t *testing.T) {
	f := newWriterFSM("", func(err *DivergedError) { t.Error(err) })
	instead, err := SkippedEntry()
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= 3*keptSkipped; i++ {
		f.Apply(&raft.Log{Index: i, Data: instead})
	}
	if s := f.Skips(); len(s.Entries) != keptSkipped || s.Entries[keptSkipped-1] != 3*keptSkipped {
		t.Errorf("skipped are %v", s)
	}
	f.Compare(Skips{})
}
