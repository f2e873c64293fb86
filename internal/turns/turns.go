package turns

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// restShare is the rest after a turn, in durations of the turn: turns have at most a fifth of
	// the time.
	restShare = 4
	// maxRest bounds that rest, because a disk that hangs can make a turn long.
	maxRest = 50 * time.Millisecond
	// A turn is long if it computes for longer than shortTurn. Until the next turn that may be long,
	// a pause of longShare times the excess must pass, up to maxPause. If requests arrive at a steady
	// rate, one of longShare then waits for longer than shortTurn. The pause is a time and not a
	// number of requests: a client could send many cheap requests to shorten it.
	shortTurn = 3 * time.Millisecond
	longShare = 200
	maxPause  = 2 * time.Second
	// goneAfter is the time without requests of other clients that ends a pause.
	goneAfter = time.Second
	// maxCheck is the longest time until a pause looks for requests of others again.
	maxCheck = 100 * time.Millisecond
	// A visit to an element takes leastPerWork to usualPerWork nanoseconds, and on a busy machine up to
	// mostPerWork. The least and the most bound the time that a turn has computed: without its wait for
	// a disk or other nodes, and with the time to send its answer, which follows the turn.
	leastPerWork = 8
	usualPerWork = 40
	mostPerWork  = 80
	// longWork is the least work of a turn that may be long.
	longWork = int64(shortTurn / usualPerWork)
	// MaxWait bounds the wait of scripts that need not wait for a pause. It is shorter than the time
	// until another node closes a link without answers.
	MaxWait = 500 * time.Millisecond
	// MaxOwnWait bounds the wait of other work of this node's clients.
	MaxOwnWait = 30 * time.Second
	// maxBytes bounds the bytes of the work that waits, with bytesPerTurn for each turn. It is less
	// than a link between nodes holds: then other batches of that node pass.
	maxBytes     = 4 << 20
	bytesPerTurn = 1 << 10
)

// A busyError has the code BUSY.
type busyError struct{}

// Code returns the first word of the reply to a client.
func (busyError) Code() string { return "BUSY" }

func (busyError) Error() string {
	return fmt.Sprintf("Scripts and commands that run long take turns, and too many wait: the turn of this one "+
		"did not come in time, or more than %d MB wait. Nothing was executed; try again later", maxBytes>>20)
}

// ErrBusy is the answer to work that has no turn in time.
var ErrBusy error = busyError{}

// Turns do long work, one turn at a time. After each turn they rest, so that all other work gets
// most of the processor time and of the log. After a long turn, and while other clients send
// requests, further turns that may be long wait for the end of a pause. Other turns pass them. Work
// that waits longer than its bound, or that would exceed maxBytes, is answered ErrBusy and not done.
//
// Concurrency: any goroutine. There is a goroutine while turns wait.
type Turns struct {
	now   func() int64 // nanoseconds of a clock that is never set
	sleep func(d time.Duration, until <-chan struct{})
	spawn func(func())
	hurry chan struct{} // closed by Hurry
	once  sync.Once
	woken chan struct{} // has an element after an Add

	mu       sync.Mutex
	waiting  []waiting
	bytes    int            // of those that wait
	added    int64          // turns so far
	serving  bool           // a goroutine serves or rests
	counters []func() int64 // of CountOthers

	// Only the goroutine that serves uses these.
	pauseUntil int64 // in the time of now
	others     int64 // sum of the counters
	seen       int64 // the time at which that sum was last seen to grow
}

// A Turn is work that waits for its turn.
type Turn struct {
	Bytes int           // that it holds
	Work  int64         // estimated, in visits to an element
	Wait  time.Duration // the longest wait for the turn
	// Do begins the work. It calls done exactly once, from any goroutine.
	Do func(done func(error))
	// Done is called exactly once: with the error of Do, in the turn and by the goroutine of the
	// turns, or with ErrBusy if Do is not called. It must not block.
	Done func(error)
}

// MayBeLong reports whether a turn with this work may compute for longer than shortTurn. Only such
// turns wait for the end of a pause.
func MayBeLong(work int64) bool { return work >= longWork }

// WaitOf returns the longest wait for a turn of work with scripts: MaxWait, or most if the turn
// MayBeLong, because a pause can take longer than MaxWait.
func WaitOf(work int64, most time.Duration) time.Duration {
	if MayBeLong(work) {
		return most
	}
	return MaxWait
}

// A waiting is a Turn with the time of its Add, as Turns.now returns it.
type waiting struct {
	Turn
	since int64
}

// late reports whether the turn has waited too long at a time.
func (w *waiting) late(now int64) bool { return now-w.since > int64(w.Wait) }

// New makes Turns that run in a goroutine of spawn; nil: of the go statement.
func New(spawn func(func())) *Turns {
	start := time.Now()
	t := &Turns{now: func() int64 { return int64(time.Since(start)) }, spawn: spawn, hurry: make(chan struct{}),
		woken: make(chan struct{}, 1), seen: -int64(goneAfter)}
	t.sleep = t.sleepUntil
	if spawn == nil {
		t.spawn = func(f func()) { go f() }
	}
	return t
}

// Hurry ends the rest, and all later rests and pauses, for a process that ends. Any number of calls
// is allowed.
func (t *Turns) Hurry() { t.once.Do(func() { close(t.hurry) }) }

// CountOthers adds a function that counts the requests of clients without recent long work. It is
// called from any goroutine, up to ten times a second. The count must not decrease, but may be too
// low for a moment.
func (t *Turns) CountOthers(counter func() int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counters = append(t.counters, counter)
}

// Add queues work. It does not block.
func (t *Turns) Add(n Turn) {
	n.Bytes += bytesPerTurn
	t.mu.Lock()
	if len(t.waiting) > 0 && t.bytes+n.Bytes > maxBytes {
		t.mu.Unlock()
		n.Done(ErrBusy)
		return
	}
	t.waiting = append(t.waiting, waiting{n, t.now()})
	t.bytes += n.Bytes
	t.added++
	begin := !t.serving
	t.serving = true
	t.mu.Unlock()
	if begin {
		t.spawn(t.serve)
		return
	}
	select {
	case t.woken <- struct{}{}:
	default:
	}
}

// Counts returns the number of turns that wait, and of those added so far, except for work that was
// refused at once.
func (t *Turns) Counts() (waiting int, added int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting), t.added
}

// serve does the work of turns until no turn waits.
func (t *Turns) serve() {
	for {
		began := t.now()
		next, wait, ok := t.next(began, t.pauses(began))
		switch {
		case !ok:
			return
		case wait > 0:
			t.sleep(wait, t.woken)
			continue
		case next.late(began):
			next.Done(ErrBusy)
			continue
		}
		answered := make(chan error, 1)
		next.Do(func(err error) { answered <- err })
		next.Done(<-answered)
		now := t.now()
		rest, pause := restsAfter(time.Duration(now-began), next.Work)
		t.pauseUntil = max(t.pauseUntil, now+int64(pause))
		t.sleep(rest, nil)
	}
}

// restsAfter returns the rest after a turn that lasted took, and the pause until the next turn that
// may be long. work is the estimated work.
func restsAfter(took time.Duration, work int64) (rest, pause time.Duration) {
	rest = min(restShare*took, maxRest)
	computed := max(min(took, time.Duration(work)*mostPerWork), time.Duration(work)*leastPerWork)
	if computed > shortTurn {
		pause = min(longShare*(computed-shortTurn), maxPause)
	}
	return rest, max(rest, pause)
}

// pauses reports whether turns that may be long must wait now, and looks for requests of others.
func (t *Turns) pauses(now int64) bool {
	t.mu.Lock()
	counters := t.counters
	t.mu.Unlock()
	others := int64(0)
	for _, counter := range counters {
		others += counter()
	}
	if others > t.others {
		t.others, t.seen = others, now
	}
	select {
	case <-t.hurry:
		return false
	default:
	}
	return now < t.pauseUntil && now-t.seen < int64(goneAfter)
}

// next removes the turn that has waited longest, of those that are late or need not wait. If all
// must wait, it returns the time until it must be called again. ok is false if no turn waits: serve
// must end then.
func (t *Turns) next(now int64, pauses bool) (first waiting, wait time.Duration, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.waiting, t.serving = nil, false
		return first, 0, false
	}
	wait = min(time.Duration(t.pauseUntil-now), maxCheck)
	for i := range t.waiting {
		w := &t.waiting[i]
		if pauses && MayBeLong(w.Work) && !w.late(now) {
			wait = min(wait, time.Duration(w.since-now)+w.Wait+1)
			continue
		}
		first = *w
		t.waiting = slices.Delete(t.waiting, i, i+1)
		t.bytes -= first.Bytes
		return first, 0, true
	}
	return first, wait, true
}

// sleepUntil sleeps for a time, but not beyond Hurry or an element of until.
func (t *Turns) sleepUntil(d time.Duration, until <-chan struct{}) {
	select {
	case <-t.hurry:
	case <-until:
	case <-time.After(d):
	}
}
