package session

import (
	"fmt"
	"sync"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/resp"
	"limitsrv/engine"
)

const (
	// restShare is the rest after a turn, in durations of the turn: slow batches have at most a
	// fifth of the time.
	restShare = 4
	// maxRest bounds a rest, because a disk that hangs can make a turn long.
	maxRest = 50 * time.Millisecond
	// A turn of commands with much work is followed by a longer rest if it computes for longer
	// than shortTurn. The rest is longShare times the excess, up to maxLongRest. Less than a
	// hundredth of all other commands then wait for longer than shortTurn. nanosPerWork times the
	// work bounds the computing.
	shortTurn    = 4 * time.Millisecond
	longShare    = 100
	maxLongRest  = 400 * time.Millisecond
	nanosPerWork = 40
	// maxTurnWait bounds the wait for a turn. It is shorter than the time after which another node
	// closes a link without answers.
	maxTurnWait = 500 * time.Millisecond
	// maxOwnTurnWait bounds the wait of commands, except scripts, of this node's clients.
	maxOwnTurnWait = 30 * time.Second
	// maxTurnBytes bounds the bytes of the batches that wait, bytesPerTurn for each besides its keys
	// and arguments. It is less than a link holds: then other batches of that node pass.
	maxTurnBytes = 4 << 20
	bytesPerTurn = 1 << 10
)

var errNoTurn = resp.NewError("BUSY", fmt.Sprintf("Scripts and commands that run long take turns, and too many wait: the turn of this one is not within %v, or more than %d MB wait. Nothing was executed; try again later",
	maxTurnWait, maxTurnBytes>>20))

// Turns execute slow batches, one at a time, in the order of their arrival. After each turn they
// rest, so that all other batches together get most of the processor time and of the log. A
// connection has at most one batch, so connections take turns. A batch that waits longer than its
// bound, or that would exceed maxTurnBytes, is answered BUSY and not executed.
//
// Concurrency: any goroutine. There is a goroutine while batches wait.
type turns struct {
	now   func() int64 // nanoseconds of a clock that is never set
	rest  func(time.Duration)
	spawn func(func())

	mu      sync.Mutex
	waiting []turn
	bytes   int   // of those that wait
	added   int64 // batches so far
	serving bool  // a goroutine serves or rests
}

// A turn is a batch that waits for its turn.
type turn struct {
	exec  backend.Exec
	batch *engine.Batch
	done  func(error)
	bytes int
	since int64 // the time of add, as turns.now returns it
	wait  time.Duration
}

// maxWait returns the longest wait for a turn, for a batch of a client of this node.
func maxWait(batch *engine.Batch) time.Duration {
	if batch.Runs == 0 {
		return maxOwnTurnWait
	}
	return maxTurnWait
}

// add queues a batch that waits for at most wait. It does not block, and calls done exactly once.
func (t *turns) add(exec backend.Exec, batch *engine.Batch, wait time.Duration, done func(error)) {
	bytes, _ := batch.Sizes()
	bytes += bytesPerTurn
	t.mu.Lock()
	if len(t.waiting) > 0 && t.bytes+bytes > maxTurnBytes {
		t.mu.Unlock()
		done(errNoTurn)
		return
	}
	t.waiting = append(t.waiting, turn{exec, batch, done, bytes, t.now(), wait})
	t.bytes += bytes
	t.added++
	begin := !t.serving
	t.serving = true
	t.mu.Unlock()
	if begin {
		t.spawn(t.serve)
	}
}

// TakeTurn calls work in another goroutine when its turn among the slow batches has come, and then
// calls done. If too many wait, it calls only done, with an error. It does not block.
func (h *Handler) TakeTurn(work func(), done func(error)) {
	h.turns.add(turnOf(work), new(engine.Batch), maxOwnTurnWait, done)
}

// A turnOf is work for a turn that is not a batch.
type turnOf func()

// Exec does the work; the batch is empty.
func (w turnOf) Exec(_ *engine.Batch, done func(error)) {
	w()
	done(nil)
}

// Commit implements backend.Exec.
func (turnOf) Commit() {}

// Turns returns the number of slow batches that wait for their turn, and that of all slow batches
// so far, except for those that were refused at once.
func (h *Handler) Turns() (waiting int, added int64) { return h.turns.counts() }

// counts returns the number of batches that wait, and of those added so far.
func (t *turns) counts() (waiting int, added int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waiting), t.added
}

// serve executes batches until none waits.
func (t *turns) serve() {
	for {
		next, ok := t.next()
		if !ok {
			return
		}
		began := t.now()
		if began-next.since > int64(next.wait) {
			next.done(errNoTurn)
			continue
		}
		// Once the batch is answered, its owner may reuse it.
		answered, work := make(chan struct{}), next.batch.Work
		execute(next.exec, next.batch, func(err error) {
			next.done(err)
			close(answered)
		})
		next.exec.Commit()
		<-answered
		t.rest(restAfter(time.Duration(t.now()-began), work))
	}
}

// restAfter returns the rest after a turn that lasted took. work is the estimated work of its
// batch.
func restAfter(took time.Duration, work int64) time.Duration {
	rest := min(restShare*took, maxRest)
	if computed := min(took, time.Duration(work)*nanosPerWork); computed > shortTurn {
		rest = max(rest, min(longShare*(computed-shortTurn), maxLongRest))
	}
	return rest
}

// next removes the batch that has waited longest. It returns false if no batch waits: serve must
// end then.
func (t *turns) next() (first turn, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.waiting, t.serving = nil, false
		return first, false
	}
	first, t.waiting[0] = t.waiting[0], turn{}
	t.waiting = t.waiting[1:]
	t.bytes -= first.bytes
	return first, true
}

// rest sleeps, unless the server drains.
func (h *Handler) rest(d time.Duration) {
	select {
	case <-h.serving.Done():
	case <-time.After(d):
	}
}
