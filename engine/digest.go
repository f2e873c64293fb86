package engine

import "encoding/binary"

// Digest returns a hash over all keys that are live at now, or at the latest time that any
// shard has seen: the key, its parameters and its state, including the LOG entries and
// LEASE holders that count. Two engines with the same Seed have the same Digest if the same
// batches led to both, by Apply, Replay or Load, and they would make the same decisions
// from then on. Shards, expired keys, and the change numbers that Fingerprint uses do not
// affect it.
//
// It describes one moment only if nothing is applied concurrently. Cost: linear, about
// 100 ns a key; a shard is locked for a page of about 60 keys at a time.
func (e *Engine) Digest(now Instant) (digest uint64) {
	var record []byte
	now = max(now, e.Now())
	digest = e.sources.digest(e.secrets.state) + e.documents.digest(e.secrets.state)
	for hash, more := uint64(0), true; more; more = hash != 0 {
		hash = e.livePage(now, hash, func(s *shard, at Instant, pl place) {
			record = s.appendContent(record[:0], at, pl)
			digest += e.secrets.state.Sum(record)
		})
	}
	return digest
}

// appendContent appends all data of a key that affects decisions at now: parameters,
// state, key. The key must be in the cell.
func (s *shard) appendContent(dst []byte, now Instant, pl place) []byte {
	c := s.settledCell(now)
	dst = appendParams(dst, &paramKey{c.params, c.past}, s.dbAt(pl))
	if t := c.tail(); t != nil {
		from := len(dst)
		dst = t.write(dst, c, now)
		_, n := binary.Uvarint(dst[from:]) // skip the number of the last change
		dst = append(dst[:from], dst[from+n:]...)
	} else {
		dst = appendState(dst, c.words(), &c.state)
	}
	return append(dst, s.keyAt(pl)...)
}

// Export appends a block with a key to dst, as it is at now, or at the latest time that its
// shard has seen. ok is false if there is no such live key. The block is for Load; see
// there for its use under another Seed. It changes nothing. Cost: for LOG and LEASE linear
// in the entries or holders.
func (e *Engine) Export(now Instant, db uint8, key, dst []byte) (block []byte, ok bool) {
	e.withLiveKey(now, db, key, func(s *shard, at Instant, pl place) {
		c, p := s.settledCell(at), s.slab.open(pl.page)
		from, n, _ := s.record(p, pl.slot)
		record := p.buf[from+paramBytes : from+n]
		dst = appendBlockHead(dst, s.version(), at)
		dst = appendParams(append(dst, 0), &paramKey{c.params, c.past}, db)
		if t := c.tail(); t != nil {
			dst = append(dst, record[c.words()*wordBytes:]...)
			dst = t.write(dst, c, at)
		} else {
			dst = append(dst, record...)
		}
		ok = true
	})
	return dst, ok
}

// settledCell returns the cell, or a copy in which the holds that have ended are settled.
func (s *shard) settledCell(now Instant) *cell {
	if s.cell.past.held != 0 {
		return s.cell.settled(now)
	}
	return &s.cell
}
