package reservations_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/reservations"
	"limitsrv/commands/weighing"
	"limitsrv/engine"
)

// commitNamed settles by amounts: name, number, name, number.
func (s *stand) commitNamed(id string, all ...any) string {
	return s.do(func(b *engine.Batch) {
		var given []weighing.Amount
		for ; len(all) > 0; all = all[2:] {
			given = append(given, weighing.Amount{Name: []byte(all[0].(string)), N: int64(all[1].(int))})
		}
		reservations.CommitNamed(b, []byte(id), given)
	})
}

// reserveNamed reserves 20 permits of k, which weighs in=0.5 and out=2, and keeps 4.
func (s *stand) reserveNamed() string {
	return s.do(func(b *engine.Batch) {
		b.Ops = append(b.Ops, engine.NeedsOf(engine.Rules, 0, 1), engine.Op{N: 20, Key: []byte("k"),
			Params: engine.Params{Alg: engine.Fixed, Limit: 100, Period: 1e15}})
		reservations.Reserve(b, 0, []byte("id"), reservations.Terms{TTL: 10e9, Keep: 4, Request: 20,
			Names:   [][]byte{[]byte("in"), []byte("out")},
			Weights: []reservations.Weight{{Name: 0, Millionths: 500_000}, {Name: 1, Millionths: 2_000_000}}})
	})
}

// TestNamedStates commits by amounts in each state of a reservation. Sent again, in another order, a commit is
// answered as before and changes nothing.
func TestNamedStates(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(s *stand)
		want    string // with the permits used
	}{
		{"unknown", func(s *stand) {
			s.reserveNamed()
			s.now += 10e9 + engine.Instant(reservations.Remembered) + 1e6
		}, "nil|4"},
		{"open", func(s *stand) { s.reserveNamed() }, "[1 committed 8 0]|8"},
		{"extended", func(s *stand) { s.reserveNamed(); s.extend("id", 5) }, "[1 committed 8 0]|8"},
		{"committed with other amounts", func(s *stand) { s.reserveNamed(); s.commitNamed("id", "in", 4, "out", 3) },
			"[0 committed 8 0]|8"},
		{"committed by a number", func(s *stand) { s.reserveNamed(); s.commit("id", 8) }, "[0 committed 8 0]|8"},
		{"canceled", func(s *stand) { s.reserveNamed(); s.cancel("id") }, "[0 canceled 0 0]|0"},
		{"expired", func(s *stand) { s.reserveNamed(); s.now += 10e9 }, "[1 late 8 0]|8"},
		{"without names", func(s *stand) { s.reserve("id", 20, 4, "k") },
			"ERR the reservation has no named amounts: RL.COMMIT takes numbers, got in=3|20"},
		{"of ONCE", func(s *stand) {
			b := engine.Batch{Ops: []engine.Op{{Params: engine.Params{Alg: engine.Fixed, Limit: 100, Period: 1e15}, N: 3,
				Key: []byte("k")}}}
			reservations.Wrap(&b, 0, []byte("id"), 1e12, 1)
			s.e.Apply(s.now, &b)
		}, "WRONGTYPE Operation against a key holding the wrong kind of value: the id is a key of another kind|3"},
	} {
		s := newStand(t)
		tt.prepare(s)
		if got := fmt.Sprint(s.commitNamed("id", "in", 3, "out", 3), "|", s.used("k")); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		again := strings.Replace(tt.want, "late", "committed", 1)
		if got := fmt.Sprint(s.commitNamed("id", "out", 3, "in", 3), "|", s.used("k")); got != again {
			t.Errorf("%s, again: %s, want %s", tt.name, got, again)
		}
	}
}

// TestSumsOfCommits: a commit by numbers with the same bytes as a commit by amounts is another commit.
func TestSumsOfCommits(t *testing.T) {
	s := newStand(t)
	s.do(func(b *engine.Batch) {
		b.Ops = append(b.Ops, engine.NeedsOf(engine.Rules, 0, 3))
		for _, key := range []string{"k", "l", "m"} {
			b.Ops = append(b.Ops, engine.Op{N: 1, Key: []byte(key),
				Params: engine.Params{Alg: engine.Fixed, Limit: 100, Period: 1e15}})
		}
		reservations.Reserve(b, 0, []byte("id"), reservations.Terms{TTL: 10e9, Names: [][]byte{[]byte("a")}})
	})
	if got := s.commitNamed("id", "a", 5); got != "[1 committed 1 0]" {
		t.Error(got)
	}
	if got := s.commit("id", 1, 'a', 5); got != "[0 committed 1 0]" {
		t.Error(got)
	}
}

// blockOf returns the version of the blocks of a snapshot, and the state after loading the snapshot.
func (s *stand) blockOf() (version byte, loaded *stand) {
	loaded = newStand(s.t)
	loaded.now = s.now
	n := s.e.Freeze()
	defer n.Close()
	for shard := range n.Shards() {
		for block, _, ok := n.Next(shard, nil); ok; block, _, ok = n.Next(shard, nil) {
			version = max(version, block[0])
			if err := loaded.e.Load(slices.Clone(block)); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return version, loaded
}

// TestNamedSnapshot: only a snapshot with an open reservation with names has the newest version, so that older
// programs refuse it, and no other snapshot. A loaded reservation is settled by its names.
func TestNamedSnapshot(t *testing.T) {
	s := newStand(t)
	s.reserve("plain", 1, 0, "other")
	before, _ := s.blockOf()
	s.reserveNamed()
	open, loaded := s.blockOf()
	again, _ := loaded.blockOf()
	if got := loaded.commitNamed("id", "in", 3, "out", 3); got != "[1 committed 8 0]" || loaded.used("k") != 8 {
		t.Errorf("after loading: %s, %d used", got, loaded.used("k"))
	}
	settled, _ := loaded.blockOf()
	s.cancel("id")
	canceled, _ := s.blockOf()
	s.now += 11e9 + engine.Instant(reservations.Remembered)
	s.reserveNamed()
	flush := engine.Batch{Ops: []engine.Op{engine.FlushAll()}}
	s.e.Apply(s.now, &flush)
	s.reserve("plain", 1, 0, "other")
	flushed, _ := s.blockOf()
	got := fmt.Sprint(before, open, again, settled, canceled, flushed)
	if got != "5 6 6 5 5 5" {
		t.Errorf("blocks have the versions %s", got)
	}
}

// TestLargestRecord: a reservation with all that its bounds allow is stored, extended, loaded and settled.
func TestLargestRecord(t *testing.T) {
	s := newStand(t)
	longest := func(i int) []byte {
		return fmt.Appendf(nil, "n%03d%s", i, strings.Repeat("x", weighing.MaxNameBytes-4))
	}
	terms := reservations.Terms{TTL: engine.MaxPeriod, Keep: reservations.KeepAll}
	for i := range reservations.MaxNames {
		terms.Names = append(terms.Names, longest(i))
	}
	ops := []engine.Op{engine.NeedsOf(engine.Rules, 0, engine.MaxGroup)}
	for i := range engine.MaxGroup {
		key := fmt.Appendf(nil, "%03d%s", i, bytes.Repeat([]byte("k"), engine.MaxKeyBytes-3))
		ops = append(ops, engine.Op{N: 1 << 30, Key: key,
			Params: engine.Params{Alg: engine.Fixed, Limit: engine.MaxLimit, Period: engine.MaxPeriod}})
		for j := range weighing.MostNames {
			terms.Weights = append(terms.Weights, reservations.Weight{Limit: i, Name: j, Millionths: weighing.Million *
				weighing.MaxWeight})
		}
	}
	s.do(func(b *engine.Batch) {
		b.Ops = append(b.Ops, ops...)
		reservations.Reserve(b, 0, []byte("id"), terms)
		if err := commands.Check(&b.Calls[0]); err != nil {
			t.Fatal(err)
		}
	})
	for range 63 {
		if got := s.extend("id", 1<<20); !strings.HasPrefix(got, "[1 open") {
			t.Fatal(got)
		}
	}
	_, loaded := s.blockOf()
	name := string(longest(0))
	if got := loaded.commitNamed("id", name, 3); got != fmt.Sprintf(
		"ERR the amounts weigh too much in a limit of the reservation: 0 to %d is allowed", int64(engine.MaxN)) {
		t.Error(got)
	}
	if got := loaded.commitNamed("id", name, 1); got != fmt.Sprintf("[1 committed %d 0]", int64(engine.MaxLimit)) {
		t.Error(got)
	}
}
