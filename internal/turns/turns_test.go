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
	pauses  []time.Duration // the parts of pauses
	spawned []func()
	did     []int           // the numbers of the work
	at      []time.Duration // the time at which each began
	resting func()          // called in each rest; nil: nothing is
	others  int64           // requests of other clients
	rate    time.Duration   // between two of them, in a pause; 0: there are no other clients
}

func newTurnsTest() *turnsTest {
	x := &turnsTest{}
	x.Turns = New(func(f func()) { x.spawned = append(x.spawned, f) })
	x.now = func() int64 { return x.clock }
	x.CountOthers(func() int64 { return x.others })
	x.sleep = func(d time.Duration, until <-chan struct{}) {
		if d <= 0 && until != nil {
			panic("a part of a pause without a duration")
		}
		x.clock += int64(d)
		if x.rate > 0 {
			x.others = x.clock / int64(x.rate)
		}
		if until != nil {
			x.pauses = append(x.pauses, d)
			return
		}
		x.rests = append(x.rests, d)
		if x.resting != nil {
			x.resting()
		}
	}
	return x
}

// add adds work with a number, which takes so long, and returns its answers.
func (x *turnsTest) add(number int, takes time.Duration) (answers *[]error) {
	return x.addWork(number, takes, 0, MaxWait)
}

// addWork is add for work that waits, with an estimate.
func (x *turnsTest) addWork(number int, takes time.Duration, work int64, wait time.Duration) (answers *[]error) {
	answers = new([]error)
	x.Add(Turn{Work: work, Wait: wait, Done: func(err error) { *answers = append(*answers, err) },
		Do: func(done func(error)) {
			x.did, x.at = append(x.did, number), append(x.at, time.Duration(x.clock))
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

// workFor returns an estimate of the work that computes for a time.
func workFor(d time.Duration) int64 { return int64(d) / (usualPerWork - 1) }

// TestPauseAfterLongWork: work that computes for long is followed by a pause, up to a bound; the
// time of a disk does not count.
func TestPauseAfterLongWork(t *testing.T) {
	const much = 1 << 17
	for _, tt := range []struct {
		took        time.Duration
		work        int64
		rest, pause time.Duration
	}{
		{time.Millisecond, much, 4 * time.Millisecond, 4 * time.Millisecond},
		{shortTurn, much, restShare * shortTurn, restShare * shortTurn},
		{shortTurn + time.Millisecond, much, restShare * (shortTurn + time.Millisecond), longShare * time.Millisecond},
		{time.Second, 1 << 30, maxRest, maxPause},
		{time.Second, 0, maxRest, maxRest},
		{time.Second, longWork / 2, maxRest, maxRest},
		{time.Millisecond, 2 * int64(shortTurn) / leastPerWork, 4 * time.Millisecond, longShare * shortTurn},
	} {
		rest, pause := restsAfter(tt.took, tt.work)
		if pause = pause.Round(time.Millisecond); rest != tt.rest || pause != tt.pause {
			t.Errorf("after %v with work %d: %v and %v, want %v and %v", tt.took, tt.work, rest, pause, tt.rest, tt.pause)
		}
	}
}

// TestPause: while others send requests, the next long turn waits for the end of the pause, and at
// most maxPause. Short turns do not.
func TestPause(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name   string
		rate   time.Duration // between two requests of others
		last   time.Duration // the time of the last of them; 0: there is no last
		takes  time.Duration // of the long turns
		second time.Duration // the time at which the second begins
	}{
		{"one pause", 5 * ms, 0, shortTurn + 2*ms, shortTurn + 2*ms + 2*longShare*ms},
		{"few others", 700 * ms, 0, 30 * ms, 30*ms + maxPause},
		{"the longest pause", 5 * ms, 0, time.Second, time.Second + maxPause},
		{"nobody else", 0, 0, 10 * ms, 50 * ms},
		{"others that go", 5 * ms, 500 * ms, 20 * ms, 500*ms + goneAfter},
	} {
		x := newTurnsTest()
		x.rate = tt.rate
		sleep := x.sleep
		x.sleep = func(d time.Duration, until <-chan struct{}) {
			if sleep(d, until); tt.last > 0 && x.clock >= int64(tt.last) {
				x.rate = 0
			}
		}
		for number := range 2 {
			x.addWork(number, tt.takes, workFor(tt.takes), MaxOwnWait)
		}
		x.addWork(2, ms, 0, MaxOwnWait)
		if tt.rate > 0 {
			x.seen = 0 // there was a request
		}
		x.spawned[0]()
		if tt.last == 0 && tt.rate > 0 && !slices.Equal(x.did, []int{0, 2, 1}) {
			t.Errorf("%s: turns in the order %v, want the short one second", tt.name, x.did)
		}
		second := x.at[slices.Index(x.did, 1)]
		if second < tt.second || second > tt.second+maxCheck {
			t.Errorf("%s: the second long turn begins at %v, want %v", tt.name, second, tt.second)
		}
	}
}

// TestPauseShare: of requests at a steady rate, one of longShare at most waits for longer than
// shortTurn, if the turns are not longer than that needs.
func TestPauseShare(t *testing.T) {
	for _, takes := range []time.Duration{4, 5, 8, 12, 13} {
		x := newTurnsTest()
		x.rate = time.Millisecond
		const turns = 10
		for number := range turns {
			x.addWork(number, takes*time.Millisecond, workFor(takes*time.Millisecond), MaxOwnWait)
		}
		x.spawned[0]()
		waited := turns * int64(takes*time.Millisecond-shortTurn) / int64(x.rate)
		if all := int64(x.at[turns-1]) / int64(x.rate); waited*(turns-1) > all*turns/longShare {
			t.Errorf("turns of %d ms: %d of %d requests wait for longer than %v", takes, waited, all, shortTurn)
		}
	}
}

// TestPauseKeepsBounds: work whose wait ends in a pause is answered then.
func TestPauseKeepsBounds(t *testing.T) {
	x := newTurnsTest()
	x.rate = time.Millisecond
	x.addWork(0, time.Second, 1<<30, MaxWait)
	var at time.Duration
	x.Add(Turn{Work: 1 << 30, Wait: MaxWait + time.Second, Do: func(func(error)) { t.Error("done too late") },
		Done: func(err error) {
			if at = time.Duration(x.clock); !errors.Is(err, ErrBusy) {
				t.Errorf("answered %v", err)
			}
		}})
	x.spawned[0]()
	if want := MaxWait + time.Second; at < want || at > want+time.Millisecond {
		t.Errorf("answered at %v, want %v", at, want)
	}
}

// TestWaitOutlastsPauses: work with scripts waits for longer than a pause, if a pause concerns it.
func TestWaitOutlastsPauses(t *testing.T) {
	for _, tt := range []struct {
		work int64
		want time.Duration
	}{{0, MaxWait}, {longWork - 1, MaxWait}, {longWork, MaxOwnWait}} {
		if got := WaitOf(tt.work, MaxOwnWait); got != tt.want {
			t.Errorf("work %d waits for %v, want %v", tt.work, got, tt.want)
		}
	}
}

// TestPauseEnds: a short turn that arrives in a pause, and Hurry, end its sleep.
func TestPauseEnds(t *testing.T) {
	x := New(nil)
	x.CountOthers(func() int64 { return x.now() }) // others send requests all the time
	work := func(n Turn) Turn {
		n.Wait, n.Done = MaxOwnWait, func(error) {}
		return n
	}
	began := make(chan int, 3)
	do := func(number int) func(func(error)) {
		return func(done func(error)) {
			began <- number
			done(nil)
		}
	}
	x.Add(work(Turn{Work: 1 << 40, Do: do(0)}))
	x.Add(work(Turn{Work: 1 << 40, Do: do(1)}))
	x.Add(work(Turn{Do: do(2)}))
	if first, second := <-began, <-began; first != 0 || second != 2 {
		t.Errorf("turns %d and %d began, want 0 and 2", first, second)
	}
	x.Hurry()
	if last := <-began; last != 1 {
		t.Errorf("turn %d began, want 1", last)
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
	x.sleepUntil(time.Hour, nil)
}
