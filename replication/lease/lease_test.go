package lease

import (
	"testing"
	"time"
)

const second = time.Second

// A leader has a lease for a majority of each configuration, from the time when requests were
// sent, and only in its own term.
func TestGrants(t *testing.T) {
	type ack struct {
		node string
		term uint64
		sent time.Duration
	}
	for _, tt := range []struct {
		name   string
		self   bool
		others []string
		acks   []ack
		want   time.Duration // the latest time that term 5 is confirmed for; negative: no time
	}{
		{"no answer", true, []string{"b", "c"}, nil, -1},
		{"one of two", true, []string{"b", "c"}, []ack{{"b", 5, 3 * second}}, 3 * second},
		{"the better of two", true, []string{"b", "c"}, []ack{{"b", 5, 3 * second}, {"c", 5, 4 * second}}, 4 * second},
		{"the newest of a node", true, []string{"b", "c"}, []ack{{"b", 5, 3 * second}, {"b", 5, 2 * second}}, 3 * second},
		{"one of one", true, []string{"b"}, []ack{{"b", 5, 3 * second}}, 3 * second},
		{"one of three", true, []string{"b", "c", "d"}, []ack{{"b", 5, 3 * second}}, -1},
		{"two of three", true, []string{"b", "c", "d"}, []ack{{"b", 5, 3 * second}, {"d", 5, 2 * second}}, 2 * second},
		{"three of four", true, []string{"b", "c", "d", "e"},
			[]ack{{"b", 5, 3 * second}, {"d", 5, 2 * second}, {"e", 5, 4 * second}}, 3 * second},
		{"a node without a vote", true, []string{"b", "c"}, []ack{{"x", 5, 3 * second}}, -1},
		{"a leader without a vote, one of two", false, []string{"b", "c"}, []ack{{"b", 5, 3 * second}}, -1},
		{"a leader without a vote, both", false, []string{"b", "c"}, []ack{{"b", 5, 3 * second}, {"c", 5, 2 * second}},
			2 * second},
		{"an earlier term", true, []string{"b", "c"}, []ack{{"b", 4, 3 * second}}, -1},
		{"a later term", true, []string{"b", "c"}, []ack{{"b", 5, 3 * second}, {"b", 6, 4 * second}}, -1},
		{"no other voter", true, nil, nil, 10 * second},
		{"no voter", false, nil, nil, -1},
	} {
		now := 10 * second
		g := NewGrants(GrantOptions{
			Clock: func() time.Duration { return now }, Length: 9 * second,
			Voters: func() (bool, []string) { return tt.self, tt.others }, Confirmed: func() {},
		})
		for _, a := range tt.acks {
			g.Acked(a.node, a.term, a.sent)
		}
		for at := time.Duration(0); at <= 10*second; at += second {
			if got, want := g.ConfirmedSince(5, at), at <= tt.want; got != want {
				t.Errorf("%s: confirmed since %v: %v, want %v", tt.name, at, got, want)
			}
		}
		if tt.want < 0 {
			if holds, _ := g.Holds(5); holds {
				t.Errorf("%s: there is a lease", tt.name)
			}
			continue
		}
		alone := tt.self && len(tt.others) == 0
		for _, after := range []time.Duration{0, 4 * second, 5 * second, 9*second - 1, 9 * second} {
			now = tt.want + after
			holds, renew := g.Holds(5)
			if want := alone || after < 9*second; holds != want {
				t.Errorf("%s: after %v there is a lease: %v, want %v", tt.name, after, holds, want)
			}
			if !alone && renew != (after > 9*second/2) {
				t.Errorf("%s: after %v it is to be renewed: %v", tt.name, after, renew)
			}
		}
		now = tt.want
		g.Drop(5)
		if holds, _ := g.Holds(5); holds {
			t.Errorf("%s: a lease that was dropped holds", tt.name)
		}
	}
}

// A node that starts has promised, for its term at that time; and a promise is over when its
// leader, or a later leader, has handed over.
func TestPromise(t *testing.T) {
	now := 100 * second
	p := NewPromise(func() time.Duration { return now }, 4*second)
	left := func(what string, released, current uint64, want time.Duration) {
		t.Helper()
		if got := p.Left(released, current); got != want {
			t.Errorf("%s: %v are left, want %v", what, got, want)
		}
	}
	left("at the start", 0, 7, 4*second)
	left("handed over in the term before", 6, 7, 4*second)
	left("handed over in this term", 7, 7, 0)
	now += 3 * second
	left("3 s later", 0, 7, second)
	p.Renew(8)
	left("renewed", 0, 9, 4*second)
	left("renewed, and handed over in an earlier term", 7, 9, 4*second)
	left("renewed, and handed over", 8, 9, 0)
	now += 4 * second
	left("4 s later", 0, 9, 0)
	now += second
	left("5 s later", 0, 9, 0)
}

// A lease ends before the promises do for clocks that differ by a quarter, and a follower that
// starts keeps its promise before it wants an election.
func TestTimes(t *testing.T) {
	lease, promise := Times(time.Second)
	if lease*5/4 > promise || promise > 500*time.Millisecond {
		t.Errorf("a lease lasts for %v, a promise for %v", lease, promise)
	}
}

func TestClock(t *testing.T) {
	if before, after := Clock(), Clock(); before <= 0 || after < before-time.Millisecond {
		t.Errorf("the clock shows %v and then %v", before, after)
	}
	if n := testing.AllocsPerRun(100, func() { Clock() }); n > 0 {
		t.Errorf("a reading allocates %v times", n)
	}
}
