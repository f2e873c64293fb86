package engine

// A shardRun is a number of consecutive ops on a shard, which is locked, at the same time.
type shardRun struct {
	s   *shard
	at  Instant
	ops int
}

// lockRuns locks the shard of the first ops of order, which is sorted by shard, and the shards
// of the next ops as long as the ops are at most prefetchOps, so that their memory accesses
// overlap. It waits for the first shard only, with no shard locked, and stops at the next shard
// that is locked. So there is no deadlock, and no goroutine keeps a shard locked while it waits
// for the next. If an op is long, its shard is locked alone, so that other goroutines wait for
// it there only. It returns the runs of ops, valid until its next call for b, and the number of
// ops.
func (e *Engine) lockRuns(now Instant, b *Batch, order []int32) (runs []shardRun, n int) {
	runs = b.scratch.runs[:0]
	for n < len(order) {
		number, long, to := b.scratch.shards[order[n]], false, n
		for ; to < len(order) && b.scratch.shards[order[to]] == number; to++ {
			long = long || b.isLong(order[to])
		}
		s := &e.shards[number]
		if n == 0 {
			runs = append(runs, shardRun{s, s.lockForBatch(b, now), to})
			if n = to; long {
				break
			}
			continue
		}
		if long || to > prefetchOps {
			break
		}
		at, ok := s.tryLockForBatch(b, now)
		if !ok {
			break
		}
		runs = append(runs, shardRun{s, at, to - n})
		n = to
	}
	return runs, n
}

// isLong reports whether op i may take milliseconds: it is a Timed call, as scripts are, that is
// not Light.
func (b *Batch) isLong(i int32) bool {
	op := &b.Ops[i]
	if op.Kind != Do {
		return false
	}
	c := b.CallOf(op)
	return c.Timed && !c.Light
}

// apply applies the ops of the run, of a batch, and unlocks the shard. Requires: the memory for
// at most prefetchOps was prefetched, unless the engine isCached; it prefetches for more.
func (r *shardRun) apply(e *Engine, b *Batch, ops []int32) {
	for many := len(ops) > prefetchOps && !e.isCached(); len(ops) > 0; {
		ahead := min(len(ops), prefetchOps)
		if many {
			r.s.prefetch(b.scratch.hashes, ops[:ahead])
		}
		for _, i := range ops[:ahead] {
			switch op := &b.Ops[i]; op.Kind {
			case Do:
				e.do(r.at, b, int(i))
			case Needs:
				e.applyPair(r.at, b, int(i), r.s)
			default:
				r.s.apply(r.at, op, b.scratch.hashes[i], &b.Decisions[i])
			}
		}
		ops = ops[ahead:]
	}
	r.s.unlock()
}

// lockForBatch locks the shard at now for ops of a batch.
func (s *shard) lockForBatch(b *Batch, now Instant) (at Instant) {
	if b.readOnly {
		s.mu.Lock()
	} else {
		s.wait()
	}
	return s.enter(b, now)
}

// tryLockForBatch is lockForBatch if the shard is not locked; otherwise ok is false.
func (s *shard) tryLockForBatch(b *Batch, now Instant) (at Instant, ok bool) {
	if !s.mu.TryLock() {
		return 0, false
	}
	return s.enter(b, now), true
}

// enter prepares the shard for ops of a batch at now.
func (s *shard) enter(b *Batch, now Instant) (at Instant) {
	at = s.later(now)
	if !b.readOnly {
		s.now, s.full = at, b.Full
	}
	return at
}
