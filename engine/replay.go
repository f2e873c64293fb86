package engine

// A Replay applies the batches of a log again, each at the time of its decision, and reaches the
// same state as an Apply of each. Because no caller waits for the answers, it queues ops by shard
// until there are many for each: then most can be applied page by page, their memory accesses
// overlap, and shards can be processed in parallel, and, with Ahead, while further batches are
// decoded. Each of two queues takes a sixteenth of the memory that the engine has when the Replay
// is made, 8 to 32 MB, and the last batch in it. Concurrency: only one goroutine may use it, and
// no goroutine may use the [Engine] meanwhile.
type Replay struct {
	e        *Engine
	parallel func(n int, each func(shard int))
	start    func(work func()) (wait func()) // of Ahead
	wait     func()                          // for the ops of applied; nil: there are no ops
	lists    []replayList                    // by shard: the queue
	applied  []replayList                    // by shard: the queue before, which is being applied
	sorting  []replaySorting                 // by shard
	alone    func()                          // see Alone
	queued   int                             // ops
	bytes    int                             // of the queue
	most     int                             // bytes
	of       replayed
}

const (
	// The memory of the ops to queue is a queuedShare-th of the engine's, within bounds: then two
	// to four ops on short keys share a page, which is read from memory once for all of them.
	queuedShare    = 16
	minQueuedBytes = 8 << 20
	maxQueuedBytes = 32 << 20
	// fewQueued is a number of ops. Up to it parallel work gains nothing.
	fewQueued = 128
)

// replayed is what the batches of all queued ops have in common.
type replayed struct {
	full, tight bool
	level       uint8
}

// NewReplay returns a Replay. parallel must call each(0) to each(n-1), in parallel if it
// likes, and return after all calls have returned.
func (e *Engine) NewReplay(parallel func(n int, each func(shard int))) *Replay {
	return &Replay{
		e: e, parallel: parallel, start: startNow, alone: func() {}, most: queuedBytes(e.MemoryBytes()),
		lists: make([]replayList, len(e.shards)), applied: make([]replayList, len(e.shards)),
		sorting: make([]replaySorting, len(e.shards)),
	}
}

// queuedBytes returns the memory of the ops to queue for an engine with so much memory.
func queuedBytes(memory int64) int {
	return int(min(max(memory/queuedShare, minQueuedBytes), maxQueuedBytes))
}

// Ahead lets Apply return while queued ops are being applied. start must call work, on
// another goroutine, and return a function that returns after work has.
func (r *Replay) Ahead(start func(work func()) (wait func())) { r.start = start }

// Alone sets a function that is called before a batch is applied on its own. All earlier batches
// have been applied by then.
func (r *Replay) Alone(alone func()) { r.alone = alone }

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
		r.alone()
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
	for i := 0; i < len(b.Ops); i++ {
		op, l := &b.Ops[i], &r.lists[b.scratch.shards[i]]
		if b.isPair(i) {
			op = r.unpaired(b, i)
			i++
		}
		r.bytes += l.add(now, op, b.scratch.hashes[i], r.most/len(r.lists))
		if op.Kind == Do {
			r.bytes += l.addCall(b.CallOf(op))
		}
	}
	if r.queued += len(b.Ops); r.bytes >= r.most {
		r.flush()
	}
}

// unpaired returns an op with the same effects as the pair that begins with op i. That is the
// second op of the pair, or a Peek at its key if the documents that the pair needs are not in
// force. Queued ops do not change documents, because a call that does enters all shards.
func (r *Replay) unpaired(b *Batch, i int) *Op {
	op := &b.Ops[i+1]
	if !r.e.inForce(&b.Ops[i]) {
		return &Op{Kind: Peek, DB: op.DB, Key: op.Key}
	}
	return op
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
	r.lists, r.applied, r.queued, r.bytes = r.applied, r.lists, 0, 0
	each := func(shard int) { lists[shard].apply(r.e, &r.e.shards[shard], &r.sorting[shard], of) }
	if few {
		for shard := range lists {
			each(shard)
		}
		return
	}
	r.wait = r.start(func() { r.parallel(len(lists), each) })
}
