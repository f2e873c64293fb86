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

// MayHold reports whether a key has fewer than MaxHolds holds that have not ended. Cost: O(1).
func (tx *Tx) MayHold(key []byte) bool {
	e, there := tx.Find(key)
	if !there {
		return true
	}
	c := tx.load(&e)
	return c.past.held == 0 || len(c.holds.items) < MaxHolds || c.hasEnded(tx.now)
}

// Hold adds a hold to a key. It counts the work of settling it too, because the hold may end by
// itself. Requires: the call has just taken the N permits from the key, and the key
// may have another hold, see MayHold.
func (tx *Tx) Hold(key []byte, h Hold) {
	e, there := tx.Find(key)
	if !there || !e.Alg().IsCounted() {
		return
	}
	s, c := e.shard, tx.load(&e)
	tx.changes(key)
	inPlace := c.past.held != 0
	if !inPlace {
		kept := *c
		s.unlink(e.place)
		tx.moves++
		*c = kept
		c.past.held, c.holds = 1, noHolds
		e.place = place{}
	}
	tx.AddWork(len(c.holds.items))
	c.holds.add(hold{id: h.ID, stamp: h.Stamp, end: h.End, n: h.N, keep: h.Keep})
	tx.save(&e, inPlace)
}

// holder finds a key with holds, settles the holds that have ended, and counts the work of a pass
// over the others. found is false if the key has no holds left.
func (tx *Tx) holder(key []byte) (e Entry, found bool) {
	e, there := tx.Find(key)
	if !there {
		return e, false
	}
	c := tx.load(&e)
	if c.past.held == 0 {
		return e, false
	}
	e.shard.preserveCellTail(e.hash)
	e.shard.settleHolds(tx.now, e.place)
	tx.AddWork(len(c.holds.items))
	return e, len(c.holds.items) > 0
}

// Settle ends holds of a key, and gives all but the Keep permits of each back, as if these had never
// been taken. It returns the number of the holds that it found: for another hold nothing can be given
// back. Cost: linear in the holds of the key; for a log also in the
// entries since the first of these.
func (tx *Tx) Settle(key []byte, holds ...Hold) (found int) {
	e, there := tx.holder(key)
	if !there {
		return 0
	}
	c := &e.shard.cell
	for _, h := range holds {
		if i := c.holds.find(h.ID, h.Stamp); i >= 0 {
			c.holds.reach(i, tx.now, h.Keep)
			found++
		}
	}
	if found == 0 {
		return 0
	}
	tx.AddWork(c.settleEnded(tx.now))
	e.shard.holds.stats.Settled += int64(found)
	tx.saveHolds(&e)
	return found
}

// saveHolds stores the cell, or removes the key if it is fully reset.
func (tx *Tx) saveHolds(e *Entry) {
	tx.changes(e.key)
	if !e.shard.cell.lives(tx.now) {
		e.shard.store(e.place, tx.now) // Drop discards the state in the table
		tx.Drop(*e)
		return
	}
	tx.save(e, true)
}

// Reach gives a hold the End and the Keep of h.
func (tx *Tx) Reach(key []byte, h Hold) (found bool) {
	e, there := tx.holder(key)
	if !there {
		return false
	}
	c := &e.shard.cell
	i := c.holds.find(h.ID, h.Stamp)
	if i < 0 {
		return false
	}
	c.holds.reach(i, h.End, h.Keep)
	tx.saveHolds(&e)
	return true
}
