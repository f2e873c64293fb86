package fsm

import (
	"testing"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/engine/slots"
	"limitsrv/persist"
	"limitsrv/replication/link"
)

// A divisionLog is the log of an FSM that a test fills.
type divisionLog struct {
	t     *testing.T
	f     *FSM
	index uint64
}

func (l *divisionLog) control(c ControlEntry) {
	l.t.Helper()
	data, err := c.Encode()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := CheckEntry(&persist.Decoder{}, &raft.Log{Type: raft.LogCommand, Data: data}); err != nil {
		l.t.Error(err)
	}
	l.index++
	l.f.Apply(&raft.Log{Index: l.index, Data: data})
}

// take logs a take, and returns the number of keys after it.
func (l *divisionLog) take(key string) int64 {
	var entry persist.Entry
	entry.Append(engine.Instant(1e18+l.index), &engine.Batch{Ops: []engine.Op{{Kind: engine.Take, N: 1, Key: []byte(key),
		Params: everyAlgorithm["fixed"]}}})
	l.index++
	l.f.Apply(&raft.Log{Index: l.index, Data: entry.Bytes()})
	return l.f.Engine().Len()
}

// The first group gives each slot once, whatever its log asks, and a state that was sent to another node
// goes on alike.
func TestDivisionGivesOnce(t *testing.T) {
	parse := func(text string) slots.Set {
		s, err := slots.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := link.ClusterID{1}, link.ClusterID{2}
	l := divisionLog{t: t, f: newTestFSM()}
	group := func(id link.ClusterID, owned string) { // is refused or given by the entry
		l.control(ControlEntry{Group: &OtherGroup{Cluster: id, Owned: parse(owned), Nodes: []string{"h:1"}}})
	}
	group(a, "9000")
	if l.f.Division() != nil {
		t.Error("a group that owns all slots gives some")
	}
	l.control(ControlEntry{Division: &Division{Owned: parse("0-99")}})
	l.control(ControlEntry{Division: &Division{Owned: parse("0-199")}})
	for _, tt := range []struct {
		id    link.ClusterID
		owned string
		given int
	}{
		{a, "99-150", 0}, {a, "100-150", 1}, {a, "100-150", 1}, {a, "200", 1}, {b, "150-160", 1}, {b, "151-16383", 2},
	} {
		if group(tt.id, tt.owned); len(l.f.Division().Groups) != tt.given {
			t.Errorf("%v for %x: %+v, want %d", tt.owned, tt.id[:1], l.f.Division().Groups, tt.given)
		}
	}
	if got := l.f.Division().Owned.String(); got != "0-99" || l.f.Level() < DivisionLevel {
		t.Errorf("the group owns %s at level %d", got, l.f.Level())
	}
	further := &Division{Owned: parse("5"), First: []string{"h:1"}}
	if further.CheckGive(OtherGroup{Cluster: a, Owned: parse("7")}) == nil {
		t.Error("a further group gives slots")
	}
}

// Apply changes no key of a slot that the group does not own: neither before nor after a snapshot, also
// for a group without such an entry check in its leader. The division is in the digest.
func TestDivisionInApply(t *testing.T) {
	own, foreign := "foo", "bar"
	slot := slots.Of([]byte(own))
	l := divisionLog{t: t, f: newTestFSM()}
	_, plain := l.f.Digest()
	l.control(ControlEntry{Division: &Division{Owned: slots.Set{{First: slot, Last: slot}}}})
	if _, divided := l.f.Digest(); divided == plain {
		t.Error("the digest lacks the division")
	}
	restored := divisionLog{t: t, f: newTestFSM(), index: l.index}
	if err := restore(restored.f, snapshotOf(t, l.f)); err != nil {
		t.Fatal(err)
	}
	for _, log := range []*divisionLog{&l, &restored} {
		if n := log.take(foreign); n != 0 {
			t.Errorf("%d keys after a take of slot %d", n, slots.Of([]byte(foreign)))
		}
		if n := log.take(own); n != 1 {
			t.Errorf("%d keys after a take of slot %d", n, slot)
		}
	}
	index, want := l.f.Digest()
	if at, got := restored.f.Digest(); got != want || at != index {
		t.Errorf("digest %x at %d, of a restored state %x at %d", want, index, got, at)
	}
}
