package engine

// dbAt returns the database of the key of a place.
func (s *shard) dbAt(pl place) uint8 {
	p := s.slab.open(pl.page)
	return p.head(p.offset(pl.slot)).db()
}

// count counts n more keys like the cell's in a database.
func (s *shard) count(db uint8, n int64) {
	s.keys += n
	s.keysIn[db] += n
	if s.cell.lasts() {
		s.lastingIn[db] += n
	}
}

// lasts reports whether the cell never expires.
func (c *cell) lasts() bool { return c.params.Alg.IsPlain() && c.state[0] == 0 }

// flush drops all keys of a database. Cost: all pages of the shard, if other databases
// have keys.
func (s *shard) flush(db uint8) {
	if s.keysIn[db] == s.keys {
		s.clear()
		return
	}
	for p := range s.pages() {
		for i := p.slots() - 1; i >= 0; i-- {
			if pl := (place{page: p.pageHead, slot: i}); s.dbAt(pl) == db {
				s.remove(pl)
			}
		}
		s.shrink(p)
	}
}
