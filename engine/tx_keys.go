package engine

// EachKey calls visit for each live key of the call's database, until visit returns false. The
// order depends on the layout of the table, so the effects and the answer of the call must not
// depend on it. visit must not retain key or use the Tx. Requires: the call may touch all keys.
// Cost: linear in the keys of all databases.
func (tx *Tx) EachKey(visit func(key []byte, alg Alg) bool) {
	tx.holds = nil // load the cells of the shards again
	for i := range tx.e.shards {
		s := &tx.e.shards[i]
		if tx.entered == nil || !tx.entered.has(uint16(i)) {
			panic("engine: a call uses all keys, but may touch some only")
		}
		if s.keysIn[tx.db] == 0 {
			continue
		}
		for p := range s.pages() {
			for slot := range p.slots() {
				pl := place{page: p.pageHead, slot: slot}
				if s.dbAt(pl) != tx.db {
					continue
				}
				if c := s.load(p, slot); c.lives(tx.now) && !visit(s.keyAt(pl), c.params.Alg) {
					return
				}
			}
		}
	}
}

// Rank returns a pseudorandom number for a key of the call's database. It depends only on draw and
// the key.
func (tx *Tx) Rank(key []byte, draw uint64) uint64 {
	r := Random{state: sumIn(tx.e.secrets.random, tx.db, key) ^ draw}
	return r.Uint64()
}
