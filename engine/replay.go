package engine

// A Replay applies the batches of a log again, each at the time of its decision, and
// reaches the same state as an Apply of each. Because no caller waits for the answers, it
// queues ops by shard until there are many for each: then their memory accesses overlap,
// shards can be processed in parallel, and, with Ahead, while further batches are decoded.
// Concurrency: only one goroutine may use it, and none may use the Engine meanwhile.
type Replay struct {
	e        *Engine
	parallel func(n int, each func(shard int))
	start    func(work func()) (wait func()) // of Ahead
	wait     func()                          // for the ops of applied; nil: there are none
	lists    []replayList                    // by shard: the queue
	applied  []replayList                    // by shard: the queue before, which is being applied
	queued   int
	of       replayed
}

const (
	// maxQueued is the number of ops to queue: some for each shard, and few enough for the
	// processor's cache.
	maxQueued = 8192
	// fewQueued is the number of ops up to which parallel work gains nothing.
	fewQueued = 128
)

// replayed is what the batches of all queued ops have in common.
type replayed struct {
	full, tight bool
	level       uint8
}

// A replayList is the queue of a shard.
type replayList struct {
	ops    []Op // their keys and ids are in bytes
	calls  []Call
	args   [][]byte // of the calls, in bytes
	hashes []uint64
	stamps []Instant
	bytes  []byte
	answer []byte // memory for any call
	tx     Tx
}

// NewReplay returns a Replay. parallel must call each(0) to each(n-1), in parallel if it
// likes, and return after all calls have returned.
func (e *Engine) NewReplay(parallel func(n int, each func(shard int))) *Replay {
	return &Replay{
		e: e, parallel: parallel, start: startNow,
		lists: make([]replayList, len(e.shards)), applied: make([]replayList, len(e.shards)),
	}
}

// Ahead lets Apply return while queued ops are being applied. start must call work, on
// another goroutine, and return a function that returns after work has.
func (r *Replay) Ahead(start func(work func()) (wait func())) { r.start = start }

// startNow calls work at once.
func startNow(work func()) (wait func()) {
	work()
	return func() {}
}

// Apply applies a batch at now, or queues a copy. It does not set the Decisions of the
// batch.
func (r *Replay) Apply(now Instant, b *Batch) {
	r.e.prepare(b)
	if b.Atomic || b.scratch.apart {
		r.Finish()
		r.e.Apply(now, b)
		return
	}
	of := replayed{b.Full, r.of.tight, r.of.level}
	if len(b.Calls) > 0 {
		of.tight, of.level = b.Tight, b.Level
	}
	if of != r.of {
		r.flush()
		r.of = of
	}
	for i := range b.Ops {
		l := &r.lists[b.scratch.shards[i]]
		l.add(now, &b.Ops[i], b.scratch.hashes[i])
		if b.Ops[i].Kind == Do {
			l.addCall(&b.Calls[b.Ops[i].N])
		}
	}
	if r.queued += len(b.Ops); r.queued >= maxQueued {
		r.flush()
	}
}

// Finish applies the queued ops, and returns after all ops have been applied.
func (r *Replay) Finish() {
	r.flush()
	r.await()
}

// await waits for the ops that are being applied.
func (r *Replay) await() {
	if r.wait != nil {
		r.wait()
		r.wait = nil
	}
}

// flush begins to apply the queued ops after those before.
func (r *Replay) flush() {
	if r.queued == 0 {
		return
	}
	r.await()
	lists, of, few := r.lists, r.of, r.queued <= fewQueued
	r.lists, r.applied, r.queued = r.applied, r.lists, 0
	if few {
		for shard := range lists {
			r.e.replay(shard, &lists[shard], of)
		}
		return
	}
	r.wait = r.start(func() {
		r.parallel(len(lists), func(shard int) { r.e.replay(shard, &lists[shard], of) })
	})
}

func (l *replayList) add(now Instant, op *Op, h uint64) {
	l.ops = append(l.ops, *op)
	kept := &l.ops[len(l.ops)-1]
	kept.Key, kept.ID = l.copyBytes(op.Key), l.copyBytes(op.ID)
	l.hashes = append(l.hashes, h)
	l.stamps = append(l.stamps, now)
}

// addCall adds the call of the op added last.
func (l *replayList) addCall(c *Call) {
	from := len(l.args)
	for _, arg := range c.Args {
		l.args = append(l.args, l.copyBytes(arg))
	}
	l.ops[len(l.ops)-1].N = int64(len(l.calls))
	l.calls = append(l.calls, Call{Command: c.Command, ReadOnly: c.ReadOnly, Timed: c.Timed, Micros: c.Micros, Args: l.args[from:len(l.args):len(l.args)]})
}

// copyBytes returns a copy in bytes. If bytes is reallocated, older copies stay valid.
func (l *replayList) copyBytes(b []byte) []byte {
	from := len(l.bytes)
	l.bytes = append(l.bytes, b...)
	return l.bytes[from:len(l.bytes):len(l.bytes)]
}

// identity is the identity permutation.
var identity = func() (order [prefetchOps]int32) {
	for i := range order {
		order[i] = int32(i)
	}
	return order
}()

// replay applies the list of a shard and empties it.
func (e *Engine) replay(shard int, l *replayList, of replayed) {
	var d Decision
	s := &e.shards[shard]
	for from := 0; from < len(l.ops); from += prefetchOps {
		to := min(from+prefetchOps, len(l.ops))
		s.lock(0)
		s.full = of.full
		s.prefetch(l.hashes[from:], identity[:to-from])
		for i := from; i < to; i++ {
			s.now = max(s.now, min(l.stamps[i], latest))
			if op := &l.ops[i]; op.Kind == Do {
				l.tx.begin(e, s.now, op)
				l.tx.only, l.tx.level, l.tx.tight = s, of.level, of.tight
				c := &l.calls[op.N]
				c.Answer = l.answer
				l.tx.run(c)
				l.answer, c.Answer = c.Answer, nil
				continue
			}
			s.apply(s.now, &l.ops[i], l.hashes[i], &d)
		}
		s.evicted = s.evicted[:0]
		s.unlock()
	}
	clear(l.ops)
	clear(l.calls)
	clear(l.args)
	l.ops, l.calls, l.args = l.ops[:0], l.calls[:0], l.args[:0]
	l.hashes, l.stamps, l.bytes = l.hashes[:0], l.stamps[:0], l.bytes[:0]
}
