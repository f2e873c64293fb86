package engine

// A Replay carries out again what a log holds, each batch at the time when it was
// decided, and leads to the same state as an Apply of each would. As nobody waits
// for the answers, ops that stand alone gather by shard until there are many for
// each: then the processor waits for their memory together, and the shards can be
// worked on at the same time. One goroutine uses it, and nobody else the Engine.
type Replay struct {
	e        *Engine
	parallel func(n int, each func(shard int))
	lists    []replayList // by shard
	queued   int
	full     bool // what has gathered is of batches that are Full
}

// replayMost is how many ops gather: some for each shard, and few enough for the
// processor's cache.
const maxQueued = 8192

// A replayList is what has gathered for a shard.
type replayList struct {
	ops    []Op // their keys and ids are in bytes
	hashes []uint64
	stamps []Instant
	bytes  []byte
}

// NewReplay makes a Replay. inShards calls each(0) to each(n-1), several at the
// same time if it likes, and returns when all have.
func (e *Engine) NewReplay(parallel func(n int, each func(shard int))) *Replay {
	return &Replay{e: e, parallel: parallel, lists: make([]replayList, len(e.shards))}
}

// Apply carries out a batch at now, or keeps a copy to do so later. Its Decisions
// are not those of the batch.
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

// Finish carries out what has gathered.
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

// keep is a copy. When bytes moves, older copies stay where they were.
func (l *replayList) copyBytes(b []byte) []byte {
	from := len(l.bytes)
	l.bytes = append(l.bytes, b...)
	return l.bytes[from:len(l.bytes):len(l.bytes)]
}

// inOrder is the order of ops that are not out of order.
var identity = func() (order [prefetchOps]int32) {
	for i := range order {
		order[i] = int32(i)
	}
	return order
}()

// replay carries out a list, of batches that are Full or not, and empties it.
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
