package session

import (
	"errors"
	"slices"
	"testing"
	"time"

	"limitsrv/engine"
)

// A turnsTest has turns with a clock that moves while a batch is executed and while they rest.
type turnsTest struct {
	turns
	clock    int64
	rests    []time.Duration
	spawned  []func()
	takes    map[*engine.Batch]time.Duration // to execute it
	executed []*engine.Batch
	commits  int
	resting  func() // called in each rest; nil: nothing is
}

func newTurnsTest() *turnsTest {
	x := &turnsTest{takes: map[*engine.Batch]time.Duration{}}
	x.turns.now = func() int64 { return x.clock }
	x.turns.rest = func(d time.Duration) {
		x.rests = append(x.rests, d)
		x.clock += int64(d)
		if x.resting != nil {
			x.resting()
		}
	}
	x.turns.spawn = func(f func()) { x.spawned = append(x.spawned, f) }
	return x
}

// Exec and Commit implement backend.Exec.
func (x *turnsTest) Exec(b *engine.Batch, done func(error)) {
	x.executed = append(x.executed, b)
	x.clock += int64(x.takes[b])
	done(nil)
}

func (x *turnsTest) Commit() { x.commits++ }

// add adds a batch that takes so long, and returns it with its answers.
func (x *turnsTest) add(takes time.Duration) (b *engine.Batch, answers *[]error) {
	b, answers = new(engine.Batch), new([]error)
	x.takes[b] = takes
	x.turns.add(x, b, maxTurnWait, func(err error) { *answers = append(*answers, err) })
	return b, answers
}

// TestTurns: batches are executed in their order, each by a Commit of its own, with rests of four
// times the turn, by one goroutine while some wait.
func TestTurns(t *testing.T) {
	x := newTurnsTest()
	first, answers := x.add(time.Millisecond)
	second, _ := x.add(2 * time.Millisecond)
	var third *engine.Batch
	x.resting = func() {
		x.resting = nil
		third, _ = x.add(time.Second)
	}
	if len(x.spawned) != 1 || len(x.executed) != 0 {
		t.Fatalf("%d goroutines, want 1; %d batches executed by the caller", len(x.spawned), len(x.executed))
	}
	if waiting, added := x.counts(); waiting != 2 || added != 2 {
		t.Errorf("%d batches of %d wait, want 2 of 2", waiting, added)
	}
	x.spawned[0]()
	if waiting, added := x.counts(); waiting != 0 || added != 3 {
		t.Errorf("%d batches of %d wait at the end, want 0 of 3", waiting, added)
	}
	if want := []*engine.Batch{first, second, third}; !slices.Equal(x.executed, want) || x.commits != len(want) {
		t.Errorf("%d batches executed, with %d commits, want three in order", len(x.executed), x.commits)
	}
	if want := []time.Duration{4 * time.Millisecond, 8 * time.Millisecond, maxRest}; !slices.Equal(x.rests, want) {
		t.Errorf("rests of %v, want %v", x.rests, want)
	}
	if !slices.Equal(*answers, []error{nil}) {
		t.Errorf("the first batch is answered %v", *answers)
	}
	x.add(0)
	if len(x.spawned) != 2 {
		t.Errorf("%d goroutines for a batch that comes when none waits, want one more", len(x.spawned))
	}
}

// TestRestAfterLongCommands: commands that compute for long are followed by a longer rest, up to a
// bound; the time of a disk does not count.
func TestRestAfterLongCommands(t *testing.T) {
	for _, tt := range []struct {
		took time.Duration
		work int64
		want time.Duration
	}{
		{time.Millisecond, 1 << 30, 4 * time.Millisecond},
		{shortTurn, 1 << 30, 16 * time.Millisecond},
		{shortTurn + time.Millisecond, 1 << 30, 100 * time.Millisecond},
		{time.Second, 1 << 30, maxLongRest},
		{time.Second, 0, maxRest},
		{time.Second, int64(shortTurn) / nanosPerWork, maxRest},
	} {
		if got := restAfter(tt.took, tt.work); got != tt.want {
			t.Errorf("after %v with work %d: %v, want %v", tt.took, tt.work, got, tt.want)
		}
	}
}

// TestTurnsComeTooLate: a batch is not executed if its turn comes too late, and costs no rest; one
// that was added later is executed.
func TestTurnsComeTooLate(t *testing.T) {
	x := newTurnsTest()
	x.add(maxTurnWait)
	_, late := x.add(0)
	x.resting = func() {
		x.resting = nil
		x.add(0)
	}
	x.spawned[0]()
	if len(*late) != 1 || !errors.Is((*late)[0], errNoTurn) {
		t.Errorf("the batch that waited longer than %v is answered %v", maxTurnWait, *late)
	}
	if len(x.executed) != 2 || len(x.rests) != 2 {
		t.Errorf("%d batches executed and %d rests, want 2", len(x.executed), len(x.rests))
	}
}

// TestTurnsAreBounded: a batch beyond the bound of bytes is answered at once, and others when some
// have been executed.
func TestTurnsAreBounded(t *testing.T) {
	x := newTurnsTest()
	long := func() (b *engine.Batch) {
		b = new(engine.Batch)
		c := b.AddCall(0)
		c.Args = append(c.Args, make([]byte, maxTurnBytes/2))
		return b
	}
	var refused, executed int
	add := func() {
		x.turns.add(x, long(), maxTurnWait, func(err error) {
			if err != nil {
				refused++
			} else {
				executed++
			}
		})
	}
	add()
	add()
	if refused != 1 {
		t.Errorf("%d of two batches of half the bound, and a bit, are refused, want 1", refused)
	}
	x.resting = func() {
		x.resting = nil
		add()
	}
	x.spawned[0]()
	if refused != 1 || executed != 2 {
		t.Errorf("%d refused and %d executed, want 1 and 2", refused, executed)
	}
}
