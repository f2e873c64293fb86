package engine

// A visit to an element takes as long as copying, parsing and storing recordBytesPerElement bytes of a
// record.
const recordBytesPerElement = 8

// movesPerVisit is the number of holds that are moved in the time of a visit to one.
const movesPerVisit = 4

// Record appends the bytes of the record of an id to dst; ok is false if the entry is something else.
// Requires: it is there.
func (tx *Tx) Record(e Entry, dst []byte) (text []byte, ok bool) {
	c := tx.load(&e)
	if c.params.Alg != IDRecord {
		return dst, false
	}
	t := c.string()
	tx.AddWork(t.Count / recordBytesPerElement)
	return t.Append(dst, 0, t.Count), true
}

// PutRecord stores a record, with an expiry in milliseconds since the Unix epoch, in place of a record
// or of a key that is not there. Requires: it has 1 to MaxRecordBytes bytes, and the expiry is not
// past.
func (tx *Tx) PutRecord(e Entry, text []byte, expiry int64) Entry {
	stats := &e.shard.holds.records
	if !e.missing() && e.alg == IDRecord && (record{}).isOpen(tx.load(&e)) {
		stats.replaced++
	}
	e = tx.put(e, IDRecord, state{uint64(expiry)}, text)
	record{}.count(&e.shard.cell, 1)
	return e
}

// A Hold names a part of a reservation on one limit.
type Hold struct {
	ID      uint64  // of HoldID
	Stamp   Instant // when it was taken
	N, Keep int64   // permits taken, and permits that stay taken at the end
	End     Instant
}

// HashID returns the hash of an id in the call's database, for HoldID.
func (tx *Tx) HashID(id []byte) uint64 { return sumIn(tx.e.key, tx.db, id) }

// layerMask selects the bits of HoldID's input that hold the layer.
const layerMask = 1<<6 - 1

// HoldID returns the ID of the holds of a layer, from 0 to 63, of the reservation of an id with a hash. Held
// finds the id again. Cost: about 100 ns.
func (tx *Tx) HoldID(hash uint64, layer int) uint64 {
	return tx.e.secrets.holdIDs.Map(hash&^layerMask | uint64(layer)&layerMask)
}

// Held visits up to most holds of a key, from the newest to the oldest. It skips holds from index before on;
// before = 0 skips no hold. It calls yield for each hold that has not ended. id is nil if the id is
// forgotten; yield must not retain it. Held returns the number of older holds that it has not visited.
// Requires: all shards were entered. Cost: O(most).
func (tx *Tx) Held(key []byte, before, most int, yield func(id []byte, h Hold)) (older int) {
	e, there := tx.Find(key)
	if !there {
		return 0
	}
	c := tx.load(&e)
	if c.past.held == 0 {
		return 0
	}
	items := c.holds.items()
	if before > 0 && before < len(items) {
		items = items[:before]
	}
	for ; most > 0 && len(items) > 0; most-- {
		h := &items[len(items)-1]
		if items = items[:len(items)-1]; h.end > tx.now {
			yield(tx.idOf(h.id), Hold{ID: h.id, Stamp: h.stamp, N: h.n, Keep: h.keep, End: h.end})
		}
	}
	return len(items)
}

// idOf returns the id of the reservation of a hold, or nil.
func (tx *Tx) idOf(hold uint64) []byte {
	sum := tx.e.secrets.holdIDs.Invert(hold) &^ layerMask
	s, h := &tx.e.shards[tx.e.shardOf(sum)], tailored(sum, tx.e.bits, tx.db)
	p := s.pageOf(h)
	t := tag(h, p.depth)
	for i := p.seek(t); i < p.slots() && p.tagAt(i) == t; i++ {
		at := p.offset(i)
		if s.params.get(p.param(at)).Alg != IDRecord || p.head(at).db() != tx.db {
			continue
		}
		if id := p.key(at, s.stateWords(p, at)); tx.HashID(id)&^layerMask == sum {
			return id
		}
	}
	return nil
}

// MayHold reports whether a key has fewer than MaxHolds holds that have not ended. Cost: O(1), or a pass over
// the holds if the key has MaxHolds holds.
func (tx *Tx) MayHold(key []byte) bool {
	e, there := tx.Find(key)
	if !there {
		return true
	}
	c := tx.load(&e)
	return c.past.held == 0 || c.holds.len() < MaxHolds || c.hasEnded(tx.now)
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
	tx.AddWork(c.holds.len())
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
	tx.AddWork(c.holds.len())
	return e, c.holds.len() > 0
}

// Settle ends holds of a key. Each hold gives back its permits except Keep, as if they had never been taken.
// found is the number of holds that were still in the list, and unused the sum of N - Keep over these holds.
// A hold that is missing gives nothing back. Requires: the holds are in the order of their stamps. Cost of each
// hold: a binary search, a pass over the holds before it, or after it if these are fewer, and a move of the later
// steps of marks; for a log also a pass over the entries before or after its entry. The work that Settle counts
// is a pass over all holds of the key, and over the entries of a log from the first hold on.
func (tx *Tx) Settle(key []byte, holds ...Hold) (found int, unused int64) {
	e, there := tx.holder(key)
	if !there {
		return 0, 0
	}
	c := &e.shard.cell
	for _, h := range holds {
		i := c.holds.find(h.ID, h.Stamp)
		if i < 0 {
			continue
		}
		if found++; c.alg().chunked {
			tx.AddWork(slidingLog{}.entriesSince(c, tx.now, h.Stamp))
		}
		if found > 1 { // holder has counted a pass for the first
			tx.AddWork(c.holds.len() / movesPerVisit)
		}
		unused += c.holds.items()[i].n - h.Keep
		c.settleHold(tx.now, i, h.Keep)
	}
	if found == 0 {
		return 0, 0
	}
	e.shard.holds.stats.Settled += int64(found)
	tx.saveHolds(&e)
	return found, unused
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
	c.holds.setEnd(i, h.End, h.Keep)
	tx.saveHolds(&e)
	return true
}

// CountReservations adds to the totals of ReservationStats. id is the entry of an id, there or not.
func (tx *Tx) CountReservations(id Entry, more *ReservationStats) { id.shard.holds.records.add(more) }

// CountChargesCut adds n to Stats.ChargesCut, the charges recorded in part or not at all.
func (tx *Tx) CountChargesCut(id Entry, n int64) { id.shard.stats.ChargesCut += n }
