package engine

// settleMembers applies the members with indexes from to to-1 of a group that settles, each
// independently. It returns OK, because each member has a status of its own.
func (e *Engine) settleMembers(now Instant, b *Batch, from, to int) Status {
	changed := false
	for i := from; i < to; i++ {
		s := &e.shards[b.scratch.shards[i]]
		s.apply(now, &b.Ops[i], b.scratch.hashes[i], &b.Decisions[i])
		changed = changed || b.Decisions[i].Changed
	}
	for i := from; i < to; i++ {
		b.Decisions[i].Changed = changed
	}
	return OK
}
