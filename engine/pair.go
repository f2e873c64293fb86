package engine

// A pair is a group of a Needs and a single member without a mode. It is decided as the member
// alone would be, so that it needs a single shard, which a batch enters once for all its ops.
// In a batch that is Atomic there are no pairs.

// isPair reports whether a pair begins with op i.
func (b *Batch) isPair(i int) bool {
	op := &b.Ops[i]
	return op.Kind == Needs && op.Group == 2 && !b.Atomic && b.Ops[i+1].Mode == 0
}

// preparePair gives the pair that begins with op i the shard and the hash of its key, and its
// second op a number beyond the last shard.
func (e *Engine) preparePair(b *Batch, i int) {
	shards, hashes, op := b.scratch.shards, b.scratch.hashes, &b.Ops[i+1]
	shards[i], hashes[i] = e.locate(op.DB, op.Key)
	shards[i+1], hashes[i+1] = uint16(len(e.shards)), hashes[i]
}

// applyPair applies the pair that begins with op i, in its shard.
func (e *Engine) applyPair(now Instant, b *Batch, i int, s *shard) {
	d := &b.Decisions[i+1]
	if !e.inForce(&b.Ops[i]) {
		e.failGroup(b, i, i+2, Stale)
		return
	}
	s.apply(now, &b.Ops[i+1], b.scratch.hashes[i], d)
	b.answerNeeds(i, d.Status)
}
