package engine

import "encoding/binary"

// A Number is a live INT in its record, without a copy in the cell: counters are the usual
// values of scripts. It is valid until the next method of its Tx.
type Number struct {
	Value  int64
	Expiry int64 // as that of Tx.Expiry

	shard *shard
	hash  uint64
	page  page
	at    int // offset of the record
}

// Number returns the live INT of a key, or nil if there is no INT: Find tells why. Requires: as
// Find.
func (tx *Tx) Number(key []byte) *Number {
	n, k := &tx.number, tx.knownKey(key)
	slot := 0
	switch {
	case k == nil:
		n.shard, n.hash = tx.locate(tx.db, key)
	case k.looked && k.moves == tx.moves:
		if k.place.missing() {
			return nil
		}
		n.shard, n.hash, n.page, slot = k.shard, k.hash, k.shard.slab.open(k.place.page), k.place.slot
		if !n.open(slot, tx.now) {
			return nil
		}
		return n
	default:
		n.shard, n.hash = k.shard, k.hash
	}
	found := false
	if n.page, slot, found = tx.findRecord(k, n.shard, n.hash, key); !found || !n.open(slot, tx.now) {
		return nil
	}
	if k != nil {
		k.looked = true
	}
	return n
}

// open reads the record of a slot of the page, and reports whether it is a live INT.
func (n *Number) open(slot int, now Instant) bool {
	n.at = n.page.offset(slot)
	if n.shard.params.get(n.page.param(n.at)).Alg != Int {
		return false
	}
	words := n.words()
	n.Expiry, n.Value = int64(binary.LittleEndian.Uint64(words)), int64(binary.LittleEndian.Uint64(words[wordBytes:]))
	return n.Expiry == 0 || now.Millis() <= n.Expiry
}

// words returns the state in the record.
func (n *Number) words() []byte { return n.page.buf[n.at+paramBytes:][: 2*wordBytes : 2*wordBytes] }

// SetNumber replaces a number and its expiry, as PutInt and Expire do: it always fits.
// Requires: the expiry is not past.
func (tx *Tx) SetNumber(n *Number, value, expiry int64) {
	tx.changes(n.page.key(n.at, algorithms[Int].words))
	tx.holds = nil // the cell may have the record
	s := n.shard
	s.preserve(n.page)
	if expiry != n.Expiry {
		end := tx.now.after(untilExpiry(expiry, tx.now))
		s.noteExpiry(n.page, end, end)
		tx.countLasting(n, expiry)
	}
	if tx.sums {
		tx.effects.addNumber(tx.effectsHash(n.hash, n.page.key(n.at, algorithms[Int].words)), expiry, value)
	}
	words := n.words()
	binary.LittleEndian.PutUint64(words, uint64(expiry))
	binary.LittleEndian.PutUint64(words[wordBytes:], uint64(value))
	n.Value, n.Expiry = value, expiry
}

// countLasting counts a number that gets an expiry, or loses it.
func (tx *Tx) countLasting(n *Number, expiry int64) {
	switch {
	case expiry == 0:
		n.shard.lastingIn[tx.db]++
	case n.Expiry == 0:
		n.shard.lastingIn[tx.db]--
	}
}
