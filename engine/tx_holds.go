package engine

// Record appends the bytes of the record of an id to dst; ok is false if the entry is something else.
// Requires: it is there.
func (tx *Tx) Record(e Entry, dst []byte) (text []byte, ok bool) {
	c := tx.load(&e)
	if c.params.Alg != IDRecord {
		return dst, false
	}
	t := c.string()
	return t.Append(dst, 0, t.Count), true
}

// PutRecord stores a record, with an expiry in milliseconds since the Unix epoch, in place of a record
// or of a key that is not there. Requires: it has 1 to MaxRecordBytes bytes, and the expiry is not
// past.
func (tx *Tx) PutRecord(e Entry, text []byte, expiry int64) Entry {
	return tx.put(e, IDRecord, state{uint64(expiry)}, text)
}

// A Hold names a part of a reservation on one limit.
type Hold struct {
	ID      uint64  // of HashID
	Stamp   Instant // when it was taken
	N, Keep int64   // permits taken, and permits that stay taken at the end
	End     Instant
}

// HashID returns the hash of an id in the call's database.
func (tx *Tx) HashID(id []byte) uint64 { return sumIn(tx.e.secrets.ids, tx.db, id) }

// MayHold reports whether a key has fewer than MaxHolds holds that have not ended. Cost: O(1) if it
// has fewer with the holds that have ended.
func (tx *Tx) MayHold(key []byte) bool {
	e, there := tx.Find(key)
	if !there {
		return true
	}
	c := tx.load(&e)
	if c.past.held == 0 || len(c.holds.items) < MaxHolds {
		return true
	}
	for i := range c.holds.items {
		if c.holds.items[i].end <= tx.now {
			return true
		}
	}
	return false
}

// Hold adds a hold to a key. Requires: the call has just taken the N permits from the key, and the key
// may have another hold, see MayHold.
func (tx *Tx) Hold(key []byte, h Hold) {
	e, there := tx.Find(key)
	if !there {
		return
	}
	s, c := e.shard, tx.load(&e)
	if c.alg().limiter == nil || c.marks() && c.past != (past{held: c.past.held}) {
		return // the rate of the bucket has changed: nothing could be given back
	}
	tx.changes(key)
	inPlace := c.past.held != 0
	if !inPlace {
		kept := *c
		s.unlink(e.place)
		tx.moves++
		*c = kept
		c.past.held, c.holds = 1, &noHolds
		e.place = place{}
	}
	c.holds = c.holds.with(hold{id: h.ID, stamp: h.Stamp, end: h.End, n: h.N, keep: h.Keep})
	tx.save(&e, inPlace)
}

// holdOf loads the cell of a key with a hold, settles the holds that have ended, and returns the index
// of the hold.
func (tx *Tx) holdOf(key []byte, h Hold) (e Entry, i int, found bool) {
	e, there := tx.Find(key)
	if !there {
		return e, 0, false
	}
	c := tx.load(&e)
	if c.past.held == 0 || c.holds.find(h.ID, h.Stamp) < 0 {
		return e, 0, false
	}
	tx.changes(key)
	e.shard.preserveCellTail(e.hash)
	c.settleEnded(tx.now)
	if i = c.holds.find(h.ID, h.Stamp); i < 0 {
		tx.saveHolds(&e)
	}
	return e, i, i >= 0
}

// saveHolds stores the cell, or removes the key if it is fully reset.
func (tx *Tx) saveHolds(e *Entry) {
	if !e.shard.cell.lives(tx.now) {
		e.shard.store(e.place, tx.now) // Drop discards the state in the table
		tx.Drop(*e)
		return
	}
	tx.save(e, true)
}

// Settle ends a hold, and gives all but used permits of it back, as if these had never been taken.
// found is false if the key has no such hold: then nothing can be given back.
func (tx *Tx) Settle(key []byte, h Hold, used int64) (found bool) {
	e, i, found := tx.holdOf(key, h)
	if found {
		c := &e.shard.cell
		c.settle(tx.now, i, c.holds.items[i].n-used)
		e.shard.holds.stats.Settled++
		tx.saveHolds(&e)
	}
	return found
}

// Reach gives a hold the End and the Keep of h.
func (tx *Tx) Reach(key []byte, h Hold) (found bool) {
	e, i, found := tx.holdOf(key, h)
	if found {
		c := &e.shard.cell
		c.holds = c.holds.reaching(i, h.End, h.Keep)
		tx.saveHolds(&e)
	}
	return found
}
