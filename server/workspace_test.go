package server

import (
	"bytes"
	"strings"
	"testing"

	"limitsrv/commands/session"
)

// Claimed memory keeps its content; the arena is full before it lacks room for the output
// of a connection, and its growth is bounded.
func TestArena(t *testing.T) {
	a := newWorkspace().out
	for _, size := range []int{10, 3000, 100_000, 30, 5 << 20, 20_000} {
		for round := range 10 {
			var claimed, want [][]byte
			for i := range 20 {
				if a.full() {
					break
				}
				text := bytes.Repeat([]byte{byte(i + round)}, size)
				claimed, want = append(claimed, a.claim(append(a.lend(), text...))), append(want, text)
			}
			if len(claimed) == 0 {
				t.Fatalf("%d bytes: an empty arena is full", size)
			}
			for i := range claimed {
				if !bytes.Equal(claimed[i], want[i]) {
					t.Fatalf("%d bytes: the claimed memory has changed", size)
				}
				if _ = append(claimed[i], 'x'); i+1 < len(claimed) && claimed[i+1][0] != want[i+1][0] {
					t.Fatal("an append to claimed memory overwrites the next part")
				}
			}
			a.reset()
		}
		if cap(a.buf) > keptOutput {
			t.Errorf("%d bytes: the arena has %d, want at most %d", size, cap(a.buf), keptOutput)
		}
		if size < keptOutput/2 && testing.AllocsPerRun(10, func() {
			for !a.full() {
				out := a.lend()
				a.claim(out[:size])
			}
			a.reset()
		}) != 0 {
			t.Errorf("%d bytes: the arena allocates", size)
		}
	}
}

// An inFlightSession puts every batch in flight.
type inFlightSession struct {
	*echo
	gone bool
}

func (s *inFlightSession) Flush() bool {
	s.gone = s.Pending() > 0
	return !s.gone
}

func (s *inFlightSession) Resume() bool {
	s.gone = false
	s.execute()
	return true
}

// Many batches may be in flight at once without allocations.
func TestBatchesInFlightAllocateNothing(t *testing.T) {
	in := []byte(strings.Repeat(array("RL.TOKEN", "user:1234567890", "100", "10/1s"), 16))
	w := newWorkspace()
	conns := make([]*conn, 300)
	for i := range conns {
		conns[i] = &conn{session: &inFlightSession{echo: new(echoLog).session(session.Client{}).(*echo)},
			limits: &DefaultLimits}
	}
	round := func() {
		for _, c := range conns {
			c.borrow(w)
			c.in.Filled(copy(c.in.Space(), in))
			if c.advance(batchOps) != wantWake {
				t.Fatal("the batch is not in flight")
			}
			c.retain(w)
		}
		for _, c := range conns {
			c.borrow(w)
			c.session.Resume()
			if c.advance(batchOps) != wantInput {
				t.Fatal("there is more to do")
			}
			c.release(w)
			out := c.session.Output()
			w.out.claim(*out)
			*out = nil
			w.out.reset()
		}
	}
	if got := testing.AllocsPerRun(20, round); got != 0 {
		t.Errorf("%v allocations for %d batches, want 0", got, len(conns))
	}
}
