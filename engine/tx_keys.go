package engine

// DB returns the database of the keys that the call names next.
func (tx *Tx) DB() uint8 { return tx.db }

// Select sets the database of the keys that the call names next. Requires: the call may touch all
// keys, and db is less than Databases.
func (tx *Tx) Select(db uint8) {
	clear(tx.known[:tx.knowns]) // the places of the call's keys in the database of the op
	tx.db, tx.knowns = db, 0
}

// EachKey calls visit for each live key of all databases, until visit returns false. lasting is set
// if the key does not expire. The order depends on the layout of the table, so the effects and the
// answer of the call must not depend on it. visit must not retain key or use the Tx. Requires: the
// call may touch all keys. Cost: linear in the keys.
func (tx *Tx) EachKey(visit func(db uint8, key []byte, alg Alg, lasting bool) bool) {
	tx.holds = nil // load the cells of the shards again
	for i := range tx.e.shards {
		s := &tx.e.shards[i]
		if tx.entered == nil || !tx.entered.has(uint16(i)) {
			panic("engine: a call uses all keys, but may touch some only")
		}
		for p := range s.pages() {
			for slot := range p.slots() {
				pl := place{page: p.pageHead, slot: slot}
				if c := s.load(p, slot); c.lives(tx.now) && !visit(s.dbAt(pl), s.keyAt(pl), c.params.Alg, c.lasts()) {
					return
				}
			}
		}
	}
}

// permitBytes is about the memory of a permit that its algorithm remembers.
const permitBytes = 16

// Size returns about the memory of an entry, in bytes, without the elements of a collection. Unlike
// Engine.KeyBytes it depends only on the contents. Requires: the entry is there. Cost: as of a peek.
func (tx *Tx) Size(e Entry) int64 {
	c := tx.load(&e)
	bytes := int64(slotBytes + recordBytes(c.words(), len(e.key)))
	switch {
	case c.params.Alg == Blob:
		bytes += int64(c.plainLen())
	case c.alg().tail != nil && !c.params.Alg.IsPlain():
		bytes += permitBytes * c.meter().used(c, tx.now)
	}
	return bytes
}

// Rank returns a pseudorandom number for a key of the call's database. It depends only on draw and
// the key.
func (tx *Tx) Rank(key []byte, draw uint64) uint64 {
	r := Random{state: sumIn(tx.e.secrets.random, tx.db, key) ^ draw}
	return r.Uint64()
}
