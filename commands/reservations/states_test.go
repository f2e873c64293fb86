package reservations_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/reservations"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// A stand is an engine with a clock.
type stand struct {
	t   *testing.T
	e   *engine.Engine
	now engine.Instant
}

func newStand(t *testing.T) *stand { return &stand{t, newEngine(), 1e18} }

// do carries out a call, and returns its answer as text.
func (s *stand) do(build func(b *engine.Batch)) string {
	s.t.Helper()
	var b engine.Batch
	build(&b)
	c := &b.Calls[0]
	if c.ReadOnly {
		s.e.Look(s.now, &b)
	} else {
		s.e.Apply(s.now, &b)
	}
	if len(reservations.OpsOf(c)) > 0 {
		var reply reservations.Reply
		if err := reply.Read(c); err != nil {
			return err.Error()
		}
		var text strings.Builder
		for i := range reply.Decisions {
			d := &reply.Decisions[i]
			fmt.Fprintf(&text, "%d of %d ", d.Allowed, d.Remaining)
		}
		return text.String() + map[bool]string{true: "again"}[reply.Repeated]
	}
	text, _ := textOf(c.Answer)
	return text
}

// textOf returns the first value of an answer as text.
func textOf(data []byte) (text string, rest []byte) {
	v, rest, _ := answer.Next(data)
	switch v.Kind {
	case answer.Integer:
		n, rest, _ := answer.TakeInt(data)
		return fmt.Sprint(n), rest
	case answer.Bulk, answer.Error:
		return string(v.Bytes), rest
	case answer.Array, answer.Map:
		n := v.Len
		if v.Kind == answer.Map {
			n *= 2
		}
		var parts []string
		for range n {
			text, rest = textOf(rest)
			parts = append(parts, text)
		}
		return "[" + strings.Join(parts, " ") + "]", rest
	}
	return "nil", rest
}

func (s *stand) reserve(id string, n, keep int64, keys ...string) string {
	return s.do(func(b *engine.Batch) {
		request := uint64(n)
		for _, key := range keys {
			b.Ops = append(b.Ops, engine.Op{Params: engine.Params{Alg: engine.Fixed, Limit: 100, Period: 1e15}, N: n,
				Key: []byte(key)})
		}
		reservations.Reserve(b, 0, []byte(id), reservations.Terms{TTL: 10e9, Keep: keep, Request: request})
	})
}

func (s *stand) extend(id string, by int64) string {
	return s.do(func(b *engine.Batch) {
		reservations.Extend(b, []byte(id), reservations.Extension{TTL: 10e9, By: by, Keep: reservations.Unchanged})
	})
}

func (s *stand) commit(id string, actual ...int64) string {
	return s.do(func(b *engine.Batch) { reservations.Commit(b, []byte(id), actual) })
}

func (s *stand) cancel(id string) string {
	return s.do(func(b *engine.Batch) { reservations.Cancel(b, []byte(id)) })
}

// used returns the permits in use of a key.
func (s *stand) used(key string) int64 {
	b := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte(key)}}}
	if s.e.Look(s.now, &b); b.Decisions[0].Status == engine.Missing {
		return 0
	}
	return 100 - b.Decisions[0].Remaining
}

// stateColumns are the requests to a reservation of 20 permits that keeps 4.
var stateColumns = []struct {
	name string
	do   func(s *stand) string
}{
	{"the same reservation", func(s *stand) string { return s.reserve("id", 20, 4, "k") }},
	{"another reservation", func(s *stand) string { return s.reserve("id", 21, 4, "k") }},
	{"an extension", func(s *stand) string { return s.extend("id", 0) }},
	{"more permits", func(s *stand) string { return s.extend("id", 5) }},
	{"too many permits", func(s *stand) string { return s.extend("id", 81) }},
	{"a commit of 9", func(s *stand) string { return s.commit("id", 9) }},
	{"a commit of 30", func(s *stand) string { return s.commit("id", 30) }},
	{"a cancel", func(s *stand) string { return s.cancel("id") }},
}

// stateRows are the states of a reservation, and the answers in the order of stateColumns, each with the
// permits in use afterwards.
var stateRows = []struct {
	name    string
	prepare func(s *stand)
	want    []string
}{
	{"unknown", func(*stand) {},
		[]string{"1 of 80 |20", "1 of 79 |21", "nil|0", "nil|0", "nil|0", "nil|0", "nil|0", "nil|0"}},
	{"open", func(s *stand) { s.reserve("id", 20, 4, "k") },
		[]string{"1 of 80 again|20", "BUSYKEY id 'id' is of another request|20", "[1 open 20 0]|20", "[1 open 25 0]|25",
			"[0 limited 20 0]|20", "[1 committed 9 0]|9", "[1 committed 30 0]|30", "[1 canceled 0 0]|0"}},
	{"committed with 9", func(s *stand) { s.reserve("id", 20, 4, "k"); s.commit("id", 9) },
		[]string{"1 of 91 again|9", "BUSYKEY id 'id' is of another request|9", "[0 committed 9 0]|9", "[0 committed 9 0]|9",
			"[0 committed 9 0]|9", "[1 committed 9 0]|9", "[0 committed 9 0]|9", "[0 committed 9 0]|9"}},
	{"canceled", func(s *stand) { s.reserve("id", 20, 4, "k"); s.cancel("id") },
		[]string{"BUSYKEY id 'id' is of a reservation that was canceled|0", "BUSYKEY id 'id' is of another request|0",
			"[0 canceled 0 0]|0", "[0 canceled 0 0]|0", "[0 canceled 0 0]|0", "[0 canceled 0 0]|0", "[0 canceled 0 0]|0",
			"[1 canceled 0 0]|0"}},
	{"expired", func(s *stand) { s.reserve("id", 20, 4, "k"); s.now += 10e9 },
		[]string{"BUSYKEY id 'id' is of a reservation that has expired|4", "BUSYKEY id 'id' is of another request|4",
			"[0 expired 4 0]|4", "[0 expired 4 0]|4", "[0 expired 4 0]|4", "[1 late 9 0]|9", "[1 late 30 0]|30",
			"[0 expired 4 0]|4"}},
	{"committed late with 9", func(s *stand) { s.reserve("id", 20, 4, "k"); s.now += 10e9; s.commit("id", 9) },
		[]string{"1 of 91 again|9", "BUSYKEY id 'id' is of another request|9", "[0 committed 9 0]|9", "[0 committed 9 0]|9",
			"[0 committed 9 0]|9", "[1 committed 9 0]|9", "[0 committed 9 0]|9", "[0 committed 9 0]|9"}},
	{"forgotten", func(s *stand) {
		s.reserve("id", 20, 4, "k")
		s.now += 10e9 + engine.Instant(reservations.Remembered) + 1e6
	},
		[]string{"1 of 76 |24", "1 of 75 |25", "nil|4", "nil|4", "nil|4", "nil|4", "nil|4", "nil|4"}},
	{"settled and forgotten", func(s *stand) {
		s.reserve("id", 20, 4, "k")
		s.commit("id", 9)
		s.now += engine.Instant(reservations.Remembered) + 1e6
	}, []string{"1 of 71 |29", "1 of 70 |30", "nil|9", "nil|9", "nil|9", "nil|9", "nil|9", "nil|9"}},
}

// TestStates sends each request to a reservation in each state, and sends it again: only a reservation that
// decides anew, and a further extension, may count more.
func TestStates(t *testing.T) {
	for _, row := range stateRows {
		if len(row.want) != len(stateColumns) {
			t.Fatalf("%s has %d answers, want %d", row.name, len(row.want), len(stateColumns))
		}
		for i, column := range stateColumns {
			s := newStand(t)
			row.prepare(s)
			got := fmt.Sprintf("%s|%d", column.do(s), s.used("k"))
			if strings.HasPrefix(got, "[0 limited") { // the wait follows from the window
				got = "[0 limited 20 0]" + got[strings.Index(got, "|"):]
			}
			if got != row.want[i] {
				t.Errorf("%s, %s: %q, want %q", row.name, column.name, got, row.want[i])
			}
			if before := s.used("k"); column.name != "more permits" {
				if column.do(s); s.used("k") != before {
					t.Errorf("%s, %s: sent again %d are used, want %d", row.name, column.name, s.used("k"), before)
				}
			}
		}
	}
}

// TestChargeWithoutMemory: permits used beyond a reservation are charged also if the key is gone and there
// is no memory for another, on time and late. A key of another kind is told in the count of cut charges.
func TestChargeWithoutMemory(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := newStand(t)
		s.reserve("id", 20, 4, "a", "b")
		forget := engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: []byte("a")},
			{Kind: engine.Forget, Key: []byte("b")}}}
		s.e.Apply(s.now, &forget)
		lease := engine.Batch{Ops: []engine.Op{{Kind: engine.Acquire, Params: engine.Params{Alg: engine.Lease, Limit: 1,
			Period: 1e15}, N: 1, ID: []byte("x"), Key: []byte("b")}}}
		s.e.Apply(s.now, &lease)
		want := int64(10) // 30 - 20
		if late {
			s.now, want = s.now+10e9, 26
		}
		b := engine.Batch{Tight: true, Full: true}
		reservations.Commit(&b, []byte("id"), []int64{30})
		keys := s.e.Len()
		s.e.Apply(s.now, &b)
		if used := s.used("a"); used != want {
			t.Errorf("late %v: %d are used, want %d", late, used, want)
		}
		stats := s.e.Stats()
		if stats.ChargesCut != 1 || stats.Reservations.Beyond != want || s.e.Len() != keys+1 {
			t.Errorf("late %v: %d charges are cut, %d permits are beyond, %d more keys, want 1, %d, 1", late, stats.ChargesCut,
				stats.Reservations.Beyond, s.e.Len()-keys, want)
		}
	}
}

// TestReservedOf lists the open reservations of a limit, in parts.
func TestReservedOf(t *testing.T) {
	s := newStand(t)
	list := func(key string, cursor, count int64) string {
		return s.do(func(b *engine.Batch) { reservations.ReservedOf(b, []byte(key), cursor, count) })
	}
	s.reserve("short", 1, 0, "k")
	for i := range 5 {
		s.now += 1e9
		s.reserve(fmt.Sprint("id", i), int64(i+2), 2, "k", "other")
	}
	s.extend("id1", 3)
	s.cancel("id3")
	del := engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: []byte("id2")}}}
	s.e.Apply(s.now, &del)
	for _, tt := range []struct {
		cursor, count int64
		want          string
	}{
		{0, 10, "[0 [[id1 3 0 0 10000] [id4 6 2 0 10000] [nil 4 2 2000 8000] [id1 3 2 3000 10000] [id0 2 2 4000 6000] " +
			"[short 1 0 5000 5000]]]"},
		{0, 2, "[4 [[id1 3 0 0 10000] [id4 6 2 0 10000]]]"},
		{4, 3, "[1 [[nil 4 2 2000 8000] [id1 3 2 3000 10000] [id0 2 2 4000 6000]]]"},
		{1, 3, "[0 [[short 1 0 5000 5000]]]"},
		{1 << 60, 1, "[5 [[id1 3 0 0 10000]]]"},
	} {
		if got := list("k", tt.cursor, tt.count); got != tt.want {
			t.Errorf("from %d at most %d: %s, want %s", tt.cursor, tt.count, got, tt.want)
		}
	}
	s.now += 5e9
	if got, want := list("k", 0, 9), "[0 [[id1 3 0 5000 5000] [id4 6 2 5000 5000] [nil 4 2 7000 3000] "+
		"[id1 3 2 8000 5000] [id0 2 2 9000 1000]]]"; got != want {
		t.Errorf("without the reservation that has ended: %s, want %s", got, want)
	}
	for _, key := range []string{"none", "id1"} {
		if got := list(key, 0, 9); got != "[0 []]" {
			t.Errorf("%s: %s", key, got)
		}
	}
}

// TestCountsOfReservations: each request and each end is counted once, and records by their state.
func TestCountsOfReservations(t *testing.T) {
	s := newStand(t)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		s.reserve(id, 10, 4, "k", "l")
	}
	s.reserve("a", 10, 4, "k", "l") // repeated
	s.reserve("a", 11, 4, "k", "l") // a conflict
	s.reserve("f", 60, 4, "k", "l") // limited
	s.extend("a", 5)                // reserves 5 of 2 limits
	s.extend("a", 0)                // reserves nothing
	s.commit("a", 12)               // of 15: 3 are given back
	s.commit("a", 12)               // repeated
	s.commit("b", 13)               // 3 beyond
	s.cancel("c")                   // 10 are given back
	s.now += 10e9                   // d and e expire
	s.commit("d", 9)                // late: 4 were kept, 5 beyond
	s.do(func(b *engine.Batch) { reservations.Reserved(b, []byte("e")) })
	now := func() string {
		r := s.e.Stats().Reservations
		var text []string
		for _, counts := range [][]engine.Count{r.States(), r.Results(), r.Settlements(), r.Tokens()} {
			for _, c := range counts {
				text = append(text, fmt.Sprint(c.Name, " ", c.N))
			}
		}
		return strings.Join(append(text, fmt.Sprint("conflicts ", r.Conflicts)), ", ")
	}
	const totals = "granted 5, limited 1, repeated 1, committed 2, canceled 1, late 1, expired %d, reserved 110, " +
		"used 52, given_back 26, beyond 16, conflicts 1"
	if got, want := now(), "open 1, settled 4, "+fmt.Sprintf(totals, 0); got != want {
		t.Errorf("counted\n%s, want\n%s", got, want)
	}
	n := s.e.Freeze()
	restored := newEngine()
	for shard := range n.Shards() {
		for block, _, ok := n.Next(shard, nil); ok; block, _, ok = n.Next(shard, nil) {
			if err := restored.Load(slices.Clone(block)); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.Close()
	if r := restored.Stats().Reservations; r.Open != 1 || r.Settled != 4 || r.Expired() != 0 {
		t.Errorf("a restored engine has %+v", r)
	}
	s.now += engine.Instant(reservations.Remembered) + 1e6
	for range 100 {
		s.e.Sweep(s.now, 64)
	}
	if got, want := now(), "open 0, settled 0, "+fmt.Sprintf(totals, 1); got != want {
		t.Errorf("after all are forgotten\n%s, want\n%s", got, want)
	}
	s.e.SetCounting(false)
	s.e.SetCounting(true)
	s.reserve("g", 1, 0, "m")
	if r := s.e.Stats().Reservations; r.Open != 1 || r.Granted != 1 || r.Committed != 0 || r.Expired() != 0 {
		t.Errorf("counted anew: %+v", r)
	}
	flush := engine.Batch{Ops: []engine.Op{engine.FlushAll()}}
	s.e.Apply(s.now, &flush)
	if r := s.e.Stats().Reservations; r.Open != 0 || r.Expired() != 1 {
		t.Errorf("after a flush: %+v", r)
	}
}
