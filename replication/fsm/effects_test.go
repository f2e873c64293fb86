package fsm

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
)

// writer is a single command: it stores its second argument at its first.
type writer struct{ wrong func(key []byte) bool }

func (writer) Level() uint8 { return 1 }

func (writer) Check(c *engine.Call) error {
	if len(c.Args) != 2 {
		return errors.New("not two arguments")
	}
	return nil
}

func (writer) Keys(_ *engine.Call, dst []int) ([]int, bool) { return append(dst, 0), false }

func (w writer) Do(tx *engine.Tx, c *engine.Call) {
	value := c.Args[1]
	if w.wrong(c.Args[0]) {
		value = []byte("another value")
	}
	e, _ := tx.Find(c.Args[0])
	tx.Put(e, value, 0)
}

// A statedLog makes entries like a leader: each states the effects that lag entries before.
type statedLog struct {
	leader *FSM
	lag    []persist.Effects
	index  uint64
}

// next returns the next entry, applied by the leader. Without a key it is a decision on a
// limit.
func (s *statedLog) next(key string) *raft.Log {
	b := &engine.Batch{Level: 1}
	if key == "" {
		b.Ops = []engine.Op{{Kind: engine.Take, N: 1, Key: []byte("limit"), Params: everyAlgorithm["fixed"]}}
	} else {
		c := b.AddCall(0)
		c.Args = [][]byte{[]byte(key), fmt.Appendf(nil, "a value of %s that is stored as a blob", key)}
	}
	var entry persist.Entry
	if x := s.lag[0]; x.Index > 0 {
		entry.State(x)
	}
	s.index++
	entry.Append(1e18, b)
	p := NewProposal(1e18, batchGroup{b}, entry.Bytes(), func() {})
	s.leader.Propose(p)
	l := &raft.Log{Index: s.index, Data: p.Entry()}
	s.leader.Apply(l)
	s.lag = append(s.lag[1:], s.leader.Effects())
	return &raft.Log{Index: s.index, Data: bytes.Clone(l.Data)}
}

func newWriterFSM(wrong string, diverged func(*DivergedError)) *FSM {
	o := newTestFSM().o
	o.Commands = writer{func(key []byte) bool { return string(key) == wrong }}
	o.Diverged = diverged
	return New(o)
}

// TestFSMFindsDivergence: a follower that writes another value notices it when the leader
// states its effects, with the entry or the entry after it.
func TestFSMFindsDivergence(t *testing.T) {
	for lag := 1; lag <= 2; lag++ {
		log := statedLog{leader: newWriterFSM("", nil), lag: make([]persist.Effects, lag)}
		var found *DivergedError
		wrong := newWriterFSM("key 5", func(err *DivergedError) { found = err })
		right := newWriterFSM("", func(err *DivergedError) { t.Errorf("lag %d: a right follower: %v", lag, err) })
		var restored *FSM
		for i := 1; i <= 12; i++ {
			key := fmt.Sprint("key ", i)
			if i%4 == 0 {
				key = ""
			}
			l := log.next(key)
			right.Apply(l)
			wrong.Apply(l)
			if restored != nil {
				restored.Apply(l)
			}
			if i == 3 { // a node that has a snapshot continues
				restored = newWriterFSM("", func(err *DivergedError) { t.Errorf("lag %d: a restored follower: %v", lag, err) })
				if err := restore(restored, snapshotOf(t, right)); err != nil {
					t.Fatal(err)
				}
			}
			if (found != nil) != (i >= 5+lag) || wrong.Diverged() != (found != nil) {
				t.Errorf("lag %d: after entry %d: %v", lag, i, found)
			}
		}
		if found == nil {
			t.Fatalf("lag %d: nothing was found", lag)
		}
		if found.Index != 5 || found.Agreed != 3 || wrong.Index() != uint64(4+lag) {
			t.Errorf("lag %d: found in entry %d after %d, applied up to %d", lag, found.Index, found.Agreed, wrong.Index())
		}
		if _, err := wrong.Snapshot(); err == nil {
			t.Errorf("lag %d: a wrong state is saved", lag)
		}
		if got, want := restored.Effects(), log.leader.Effects(); got != want {
			t.Errorf("lag %d: effects %+v after a snapshot, want %+v", lag, got, want)
		}
		if err := restore(wrong, snapshotOf(t, right)); err != nil || wrong.Diverged() ||
			wrong.Effects() != log.leader.Effects() {
			t.Errorf("lag %d: after the leader's snapshot: %v, diverged %v", lag, err, wrong.Diverged())
		}
	}
}

// TestFSMWithoutRemedy: without a callback an entry that shows a divergence is an error.
func TestFSMWithoutRemedy(t *testing.T) {
	log := statedLog{leader: newWriterFSM("", nil), lag: make([]persist.Effects, 1)}
	wrong := newWriterFSM("a", nil)
	if err := wrong.ApplyEntry(log.next("a")); err != nil {
		t.Fatal(err)
	}
	if err := wrong.ApplyEntry(log.next("b")); !errors.As(err, new(*DivergedError)) {
		t.Errorf("the statement of another state: %v", err)
	}
}
