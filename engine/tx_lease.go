package engine

// SetLease sets the end of a holder's lease, which may move it to an earlier or a later time. reset is the time
// until the last lease of the key ends. found is false, and nothing changes, if the holder has no lease of the
// key. Requires: end is after Now, by at most MaxPeriod. Cost: O(log holders). It needs no more memory.
func (tx *Tx) SetLease(key, holder []byte, end Instant) (reset Span, found bool) {
	e, there := tx.Find(key)
	if !there {
		return Span{}, false
	}
	s, c := e.shard, tx.load(&e)
	lessor, id := c.alg().lessor, s.hashHolder(holder)
	if lessor == nil || !lessor.holds(c, tx.now, id) {
		return Span{}, false
	}
	s.preserveCellTail(e.hash)
	tx.changes(key)
	lessor.acquire(c, tx.now, id, end)
	tx.save(&e, true)
	return c.meter().until(c, tx.now, 0), true
}
