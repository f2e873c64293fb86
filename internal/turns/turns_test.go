package turns

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// A turnsTest has Turns with a clock that moves while work is done and in rests.
type turnsTest struct {
	*Turns
	clock   int64
	rests   []time.Duration
	spawned []func()
	did     []int  // the numbers of the work
	resting func() // called in each rest; nil: nothing is
}

func newTurnsTest() *turnsTest {
	x := &turnsTest{}
	x.Turns = New(func(f func()) { x.spawned = append(x.spawned, f) })
	x.now = func() int64 { return x.clock }
	x.sleep = func(d time.Duration) {
		x.rests = append(x.rests, d)
		x.clock += int64(d)
		if x.resting != nil {
			x.resting()
		}
	}
	return x
}

// add adds work with a number, which takes so long, and returns its answers.
func (x *turnsTest) add(number int, takes time.Duration) (answers *[]error) {
	answers = new([]error)
	x.Add(Turn{Wait: MaxWait, Done: func(err error) { *answers = append(*answers, err) }, Do: func(done func(error)) {
		x.did = append(x.did, number)
		x.clock += int64(takes)
		done(nil)
	}})
	return answers
}

// TestTurns: work is done in its order, with rests of four times the turn, by one goroutine while
// some waits.
func TestTurns(t *testing.T) {
	x := newTurnsTest()
	answers := x.add(1, time.Millisecond)
	x.add(2, 2*time.Millisecond)
	x.resting = func() {
		x.resting = nil
		x.add(3, time.Second)
	}
	if len(x.spawned) != 1 || len(x.did) != 0 {
		t.Fatalf("%d goroutines, want 1; %d turns done by the caller", len(x.spawned), len(x.did))
	}
	if waiting, added := x.Counts(); waiting != 2 || added != 2 {
		t.Errorf("%d turns of %d wait, want 2 of 2", waiting, added)
	}
	x.spawned[0]()
	if waiting, added := x.Counts(); waiting != 0 || added != 3 {
		t.Errorf("%d turns of %d wait at the end, want 0 of 3", waiting, added)
	}
	if want := []int{1, 2, 3}; !slices.Equal(x.did, want) {
		t.Errorf("turns %v done, want %v", x.did, want)
	}
	if want := []time.Duration{4 * time.Millisecond, 8 * time.Millisecond, maxRest}; !slices.Equal(x.rests, want) {
		t.Errorf("rests of %v, want %v", x.rests, want)
	}
	if !slices.Equal(*answers, []error{nil}) {
		t.Errorf("the first turn is answered %v", *answers)
	}
	x.add(4, 0)
	if len(x.spawned) != 2 {
		t.Errorf("%d goroutines for work that comes when none waits, want one more", len(x.spawned))
	}
}

// TestRestAfterLongWork: work that computes for long is followed by a longer rest, up to a bound;
// the time of a disk does not count.
func TestRestAfterLongWork(t *testing.T) {
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

// TestTurnsComeTooLate: work is not done if its turn comes too late, and costs no rest; work that
// was added later is done.
func TestTurnsComeTooLate(t *testing.T) {
	x := newTurnsTest()
	x.add(1, MaxWait)
	late := x.add(2, 0)
	x.resting = func() {
		x.resting = nil
		x.add(3, 0)
	}
	x.spawned[0]()
	if len(*late) != 1 || !errors.Is((*late)[0], ErrBusy) {
		t.Errorf("the work that waited longer than %v is answered %v", MaxWait, *late)
	}
	if want := []int{1, 3}; !slices.Equal(x.did, want) || len(x.rests) != 2 {
		t.Errorf("turns %v done and %d rests, want %v and 2", x.did, len(x.rests), want)
	}
}

// TestTurnsAreBounded: work beyond the bound of bytes is answered at once, and waits again when
// some was done.
func TestTurnsAreBounded(t *testing.T) {
	x := newTurnsTest()
	var refused, done int
	add := func() {
		x.Add(Turn{Bytes: maxBytes / 2, Wait: MaxWait, Do: func(done func(error)) { done(nil) }, Done: func(err error) {
			if err != nil {
				refused++
			} else {
				done++
			}
		}})
	}
	add()
	add()
	if refused != 1 {
		t.Errorf("%d of two turns of half the bound, and a bit, are refused, want 1", refused)
	}
	x.resting = func() {
		x.resting = nil
		add()
	}
	x.spawned[0]()
	if refused != 1 || done != 2 {
		t.Errorf("%d refused and %d done, want 1 and 2", refused, done)
	}
}

// TestHurry: no turn rests for a process that ends.
func TestHurry(t *testing.T) {
	x := New(nil)
	x.Hurry()
	x.Hurry()
	x.rest(time.Hour)
}
