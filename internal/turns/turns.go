package turns

import (
	"fmt"
	"sync"
	"time"
)

const (
	// restShare is the rest after a turn, in durations of the turn: long work has at most a fifth
	// of the time.
	restShare = 4
	// maxRest bounds a rest, because a disk that hangs can make a turn long.
	maxRest = 50 * time.Millisecond
	// A turn with much work is followed by a longer rest if it computes for longer than shortTurn.
	// The rest is longShare times the excess, up to maxLongRest. Less than a hundredth of all other
	// commands then wait for longer than shortTurn. nanosPerWork times the work bounds the
	// computing.
	shortTurn    = 4 * time.Millisecond
	longShare    = 100
	maxLongRest  = 400 * time.Millisecond
	nanosPerWork = 40
	// MaxWait bounds the wait of scripts and of other nodes' work. It is shorter than the time
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
	return fmt.Sprintf("Scripts and commands that run long take turns, and too many wait: the turn of this one is not "+
		"within %v, or more than %d MB wait. Nothing was executed; try again later",
		MaxWait, maxBytes>>20)
}

// ErrBusy is the answer to work that has no turn in time.
var ErrBusy error = busyError{}

// Turns do long work, one turn at a time, in the order of Add. After each turn they rest, so that
// all other work gets most of the processor time and of the log. Work that waits longer than its
// bound, or that would exceed maxBytes, is answered ErrBusy and not done.
//
// Concurrency: any goroutine. There is a goroutine while turns wait.
type Turns struct {
	now   func() int64 // nanoseconds of a clock that is never set
	sleep func(time.Duration)
	spawn func(func())
	hurry chan struct{} // closed by Hurry
	once  sync.Once

	mu      sync.Mutex
	waiting []waiting
	bytes   int   // of those that wait
	added   int64 // turns so far
	serving bool  // a goroutine serves or rests
}

// A Turn is work that waits for its turn.
type Turn struct {
	Bytes int           // that it holds
	Work  int64         // estimated, in visits to an element
	Wait  time.Duration // the longest wait for the turn
	// Do begins the work. It calls done exactly once, from any goroutine. The turn ends then.
	Do func(done func(error))
	// Done is called exactly once: with the error of Do, or with ErrBusy if Do is not called.
	Done func(error)
}

// A waiting is a Turn with the time of its Add, as Turns.now returns it.
type waiting struct {
	Turn
	since int64
}

// New makes Turns that run in a goroutine of spawn; nil: of the go statement.
func New(spawn func(func())) *Turns {
	start := time.Now()
	t := &Turns{now: func() int64 { return int64(time.Since(start)) }, spawn: spawn, hurry: make(chan struct{})}
	t.sleep = t.rest
	if spawn == nil {
		t.spawn = func(f func()) { go f() }
	}
	return t
}

// Hurry ends the rest, and all later rests, for a process that ends. Any number of calls is
// allowed.
func (t *Turns) Hurry() { t.once.Do(func() { close(t.hurry) }) }

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
		next, ok := t.next()
		if !ok {
			return
		}
		began := t.now()
		if began-next.since > int64(next.Wait) {
			next.Done(ErrBusy)
			continue
		}
		answered := make(chan struct{})
		next.Do(func(err error) {
			next.Done(err)
			close(answered)
		})
		<-answered
		t.sleep(restAfter(time.Duration(t.now()-began), next.Work))
	}
}

// restAfter returns the rest after a turn that lasted took. work is the estimated work.
func restAfter(took time.Duration, work int64) time.Duration {
	rest := min(restShare*took, maxRest)
	if computed := min(took, time.Duration(work)*nanosPerWork); computed > shortTurn {
		rest = max(rest, min(longShare*(computed-shortTurn), maxLongRest))
	}
	return rest
}

// next removes the turn that has waited longest. It returns false if no turn waits: serve must
// end then.
func (t *Turns) next() (first waiting, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.waiting, t.serving = nil, false
		return first, false
	}
	first, t.waiting[0] = t.waiting[0], waiting{}
	t.waiting = t.waiting[1:]
	t.bytes -= first.Bytes
	return first, true
}

// rest sleeps until Hurry at most.
func (t *Turns) rest(d time.Duration) {
	select {
	case <-t.hurry:
	case <-time.After(d):
	}
}
