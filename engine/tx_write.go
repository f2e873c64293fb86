package engine

import "limitsrv/engine/values"

// Fits reports whether Put would store a value: always, unless the batch is Tight. Then the
// key must exist, and the value must need no more memory than the present value. That
// follows from the values alone.
func (tx *Tx) Fits(e Entry, value []byte) bool {
	if !tx.tight {
		return true
	}
	alg, _ := rowOf(value)
	return !e.missing() && plainBytes(alg, len(value)) <= tx.load(&e).plainBytes()
}

// plainBytes returns the memory of a string of a row, as Fits counts it: without the
// contents of a collection.
func plainBytes(alg Alg, length int) int {
	if alg == Blob {
		return length
	}
	return algorithms[alg].words * wordBytes
}

// plainBytes returns the memory of the cell's plain value; 0 if it is a limit.
func (c *cell) plainBytes() int {
	if !c.params.Alg.IsPlain() {
		return 0
	}
	if c.params.Alg > Blob {
		return plainBytes(c.params.Alg, 0)
	}
	return plainBytes(c.params.Alg, c.plainLen())
}

// Put stores a string, and an expiry in milliseconds since the Unix epoch, 0 for no expiry,
// in place of the entry's state, and returns the entry. ok is false, and nothing is
// changed, unless the value Fits. Requires: value is at most MaxValueBytes long; the expiry
// is not past.
func (tx *Tx) Put(e Entry, value []byte, expiry int64) (put Entry, ok bool) {
	if !tx.Fits(e, value) {
		return e, false
	}
	alg, s := rowOf(value)
	s[0] = uint64(expiry)
	return tx.put(e, alg, s, value), true
}

// PutInt is Put of a number. A number that replaces a number always fits.
func (tx *Tx) PutInt(e Entry, n, expiry int64) (put Entry, ok bool) {
	if tx.tight && (e.missing() || tx.load(&e).plainBytes() < plainBytes(Int, 0)) {
		return e, false
	}
	return tx.put(e, Int, state{uint64(expiry), uint64(n)}, nil), true
}

// put stores a state of a row, or of a Blob the value, in place of the entry's state.
func (tx *Tx) put(e Entry, alg Alg, to state, value []byte) Entry {
	tx.changes(e.key)
	if tx.sums && hasText(alg) {
		tx.effects.addBytes(value)
	}
	s := e.shard
	c := &s.cell
	inPlace := false
	if !e.missing() {
		c = tx.load(&e)
		inPlace = c.words() == algorithms[alg].words
		if c.params.Alg == alg && c.alg().tail == nil { // most writes: only the state differs
			s.countLasting(tx.db, -1)
			c.state = to
			tx.save(&e, true)
			return e
		}
	}
	switch {
	case inPlace:
		if c.params.Alg == Blob && alg == Blob {
			tx.replaceBlob(e, value, to[0])
			return e
		}
		if c.copied() != nil {
			s.preserveCellTail(e.hash)
		}
		s.discard(c)
		s.countLasting(tx.db, -1)
	case !e.missing():
		s.remove(e.place)
	}
	c.params, c.past, c.state = Params{Alg: alg}, past{}, to
	if hasText(alg) {
		t := c.values.String(values.Head{})
		t.Set(value)
		c.setHead(t.Head)
	}
	e.alg = alg
	tx.save(&e, inPlace)
	return e
}

// replaceBlob replaces the string of a BLOB, which is in the cell, by another.
func (tx *Tx) replaceBlob(e Entry, value []byte, expiry uint64) {
	s, c := e.shard, &e.shard.cell
	t := c.string()
	t.Set(value)
	s.countLasting(tx.db, -1)
	c.setHead(t.Head)
	c.state[0] = expiry
	tx.save(&e, true)
}

// grownPerElement is the number of bytes that Write adds to a string for the work of an element.
// It is low because no words pay for them.
const grownPerElement = 16

// Write overwrites the bytes of a string from an offset on, after zeros if it is shorter, and
// returns the entry. An entry that is not there is the empty string. ok is false as for Put.
// Requires: the string is at most MaxValueBytes long then. Cost: a BLOB is not copied.
func (tx *Tx) Write(e Entry, at int, b []byte) (put Entry, ok bool) {
	var expiry int64
	tx.buffer = tx.buffer[:0]
	if !e.missing() {
		c := tx.load(&e)
		if c.params.Alg == Blob {
			return e, tx.writeBlob(e, at, b)
		}
		expiry, tx.buffer = int64(c.state[0]), c.appendPlain(tx.buffer)
	}
	tx.AddWork((at + len(b)) / grownPerElement)
	tx.buffer = append(tx.buffer, make([]byte, max(0, at+len(b)-len(tx.buffer)))...)
	copy(tx.buffer[at:], b)
	return tx.Put(e, tx.buffer, expiry)
}

// writeBlob is Write for a BLOB, which is in the cell.
func (tx *Tx) writeBlob(e Entry, at int, b []byte) bool {
	c := &e.shard.cell
	t := c.string()
	if tx.tight && at+len(b) > t.Count {
		return false
	}
	tx.AddWork(max(0, at+len(b)-t.Count) / grownPerElement)
	tx.changes(e.key)
	if tx.sums {
		tx.effects.add(uint64(at), 0)
		tx.effects.addBytes(b)
	}
	t.Write(at, b)
	e.shard.countLasting(tx.db, -1)
	c.setHead(t.Head)
	tx.save(&e, true)
	return true
}

// save writes the cell to the entry's record, or to a new record. Requires: if it has a
// record, that has the words of the cell's row, and is not counted as lasting.
func (tx *Tx) save(e *Entry, inPlace bool) {
	s := e.shard
	if tx.sums {
		tx.effects.addCell(tx.effectsHash(e.hash, e.key), &s.cell)
	}
	expiry := latest
	if !s.cell.lasts() {
		expiry = tx.now.after(s.cell.lifetime(tx.now))
	}
	if inPlace {
		s.countLasting(tx.db, 1)
		s.store(e.place, expiry)
		return
	}
	s.insert(e.hash, e.key, expiry)
	tx.moves++
	p, i, _ := s.find(e.hash, e.key)
	e.place, e.moves = place{page: p.pageHead, slot: i}, tx.moves
}

// countLasting counts n more keys like the cell's among those that never expire.
func (s *shard) countLasting(db uint8, n int64) {
	if s.cell.lasts() {
		s.lastingIn[db] += n
	}
}

// preserveCellTail must be called before the tail of the cell, of a key with hash h, may
// change.
func (s *shard) preserveCellTail(h uint64) {
	if s.frozen != nil {
		s.preserveTail(h)
	}
}

// Expire sets the expiry of a plain value, 0 for no expiry. Requires: it is not past.
func (tx *Tx) Expire(e Entry, at int64) {
	tx.changes(e.key)
	c := tx.load(&e)
	e.shard.countLasting(tx.db, -1)
	c.state[0] = uint64(at)
	tx.save(&e, true)
}

// Drop deletes an entry.
func (tx *Tx) Drop(e Entry) {
	tx.changes(e.key)
	if tx.sums {
		tx.effects.add(tx.effectsHash(e.hash, e.key), dropped)
	}
	tx.load(&e)
	e.shard.remove(e.place)
	e.shard.shrink(e.shard.slab.open(e.page))
	tx.moves++
}

// workToCopy returns the work of a copy of the cell, which has a tail.
func (c *cell) workToCopy() int {
	switch {
	case c.params.Alg == Blob:
		return 2 * c.head().Count / bytesPerElement
	case c.params.Alg.IsPlain():
		return 4 * c.head().Count
	}
	return 256 // entries of a limit, at most
}

// Rename moves an entry of any algorithm or type to another key, and replaces the state of that
// key. Requires: to is not the key of e. Cost: if the keys are in different shards, the contents
// are moved, see values.Store.Move.
func (tx *Tx) Rename(e, to Entry) {
	tx.changes(to.key)
	if !to.missing() {
		tx.Drop(to)
	}
	c := tx.load(&e)
	if c.past.held != 0 { // the reservation's record has the old key, so Settle would not find the holds
		e.shard.preserveCellTail(e.hash)
		c.settleEnded(tx.now)
		c.holds = noHolds
		e.shard.store(e.place, tx.now.after(c.lifetime(tx.now)))
	}
	moved, t := *c, c.tail()
	if t != nil { // whether it is copied depends on the node, and the work must not
		tx.AddWork(c.workToCopy())
		if tx.Level() >= 2 && c.params.Alg.IsPlain() && c.params.Alg != Blob {
			tx.AddWork(100 + 5*c.workToCopy())
		}
	}
	copies := c.copied() != nil
	switch {
	case copies:
		tx.Scratch = t.write(tx.Scratch[:0], c, tx.now)
	case t != nil: // leave nothing to discard
		h := c.head()
		c.setHead(values.Head{})
		e.shard.store(e.place, tx.now.after(c.lifetime(tx.now)))
		if e.shard != to.shard {
			h = to.shard.values.Move(e.shard.values, h)
		}
		moved.setHead(h)
	}
	tx.Drop(e)
	c = &to.shard.cell
	c.params, c.past, c.state = moved.params, moved.past, moved.state
	if copies {
		c.state = state{}
		t.read(tx.Scratch, tx.now, c)
	}
	to.place = place{}
	tx.save(&to, false)
	if c.params.Alg == List {
		tx.notices.grew(tx.db, to.key, c.head().Count)
	}
}

// Publish sends a message to the subscribers of a channel on each node, unless the call is
// replayed. Requires: the channel has at most MaxChannelBytes.
func (tx *Tx) Publish(channel, message []byte) {
	if tx.notices != nil {
		tx.notices.add(channel, message)
	}
}
