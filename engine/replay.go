package engine

// A Replay applies the batches of a log again, each at the time of its decision, and
// reaches the same state as an Apply of each. Because no caller waits for the answers, it
// queues ops by shard until there are many for each: then their memory accesses overlap,
// and shards can be processed in parallel. Concurrency: only one goroutine may use it,
// and none may use the Engine meanwhile.
type Replay struct {
	e        *Engine
	parallel func(n int, each func(shard int))
	lists    []replayList // by shard
	queued   int
	full     bool // the queued ops are of batches that are Full
}

// maxQueued is the number of ops to queue: some for each shard, and few enough for the
// processor's cache.
const maxQueued = 8192

// A replayList is the queue of a shard.
type replayList struct {
	ops    []Op // their keys and ids are in bytes
	hashes []uint64
	stamps []Instant
	bytes  []byte
}

// NewReplay returns a Replay. parallel must call each(0) to each(n-1), in parallel if it
// likes, and return after all calls have returned.
func (e *Engine) NewReplay(parallel func(n int, each func(shard int))) *Replay {
	return &Replay{e: e, parallel: parallel, lists: make([]replayList, len(e.shards))}
}

// Apply applies a batch at now, or queues a copy. It does not set the Decisions of the
// batch.
func (r *Replay) Apply(now Instant, b *Batch) {
	if b.Atomic || needsAtomic(b.Ops) {
		r.Finish()
		r.e.Apply(now, b)
		return
	}
	if b.Full != r.full {
		r.Finish()
		r.full = b.Full
	}
	for i := range b.Ops {
		h := r.e.key.sum(b.Ops[i].Key)
		r.lists[h>>(64-r.e.bits)].add(now, &b.Ops[i], h<<r.e.bits)
	}
	if r.queued += len(b.Ops); r.queued >= maxQueued {
		r.Finish()
	}
}

func needsAtomic(ops []Op) bool {
	for i := range ops {
		if ops[i].Kind == Flush || ops[i].Group > 1 {
			return true
		}
	}
	return false
}

// Finish applies the queued ops.
func (r *Replay) Finish() {
	if r.queued == 0 {
		return
	}
	r.queued = 0
	r.parallel(len(r.lists), func(shard int) { r.e.shards[shard].replay(&r.lists[shard], r.full) })
}

func (l *replayList) add(now Instant, op *Op, h uint64) {
	l.ops = append(l.ops, *op)
	kept := &l.ops[len(l.ops)-1]
	kept.Key, kept.ID = l.copyBytes(op.Key), l.copyBytes(op.ID)
	l.hashes = append(l.hashes, h)
	l.stamps = append(l.stamps, now)
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

// replay applies a list, of batches that are Full or not, and empties it.
func (s *shard) replay(l *replayList, full bool) {
	var d Decision
	for from := 0; from < len(l.ops); from += prefetchOps {
		to := min(from+prefetchOps, len(l.ops))
		s.lock(0)
		s.full = full
		s.prefetch(l.hashes[from:], identity[:to-from])
		for i := from; i < to; i++ {
			s.now = max(s.now, min(l.stamps[i], latest))
			s.apply(s.now, &l.ops[i], l.hashes[i], &d)
		}
		s.evicted = s.evicted[:0]
		s.unlock()
	}
	clear(l.ops)
	*l = replayList{ops: l.ops[:0], hashes: l.hashes[:0], stamps: l.stamps[:0], bytes: l.bytes[:0]}
}
