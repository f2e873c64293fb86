package engine

import "limitsrv/engine/values"

// A cursor of an entry that is not there is on an empty value. It requires that the entry
// has the row of the cursor otherwise. After changes the caller must pass the cursor's Head
// to Keep, before it makes another cursor of that entry.

// Hash returns a cursor of an entry.
func (tx *Tx) Hash(e Entry) values.Hash { return e.shard.values.Hash(tx.head(&e)) }

// List returns a cursor of an entry.
func (tx *Tx) List(e Entry) values.List { return e.shard.values.List(tx.head(&e)) }

// Set returns a cursor of an entry.
func (tx *Tx) Set(e Entry) values.Set { return e.shard.values.Set(tx.head(&e)) }

// SortedSet returns a cursor of an entry.
func (tx *Tx) SortedSet(e Entry) values.SortedSet { return e.shard.values.SortedSet(tx.head(&e)) }

func (tx *Tx) head(e *Entry) values.Head {
	if e.missing() {
		return values.Head{}
	}
	return tx.load(e).head()
}

// Keep stores the Head of a cursor that has changed, and returns the entry. An entry that
// was not there gets the row and never expires. An entry without elements is dropped.
func (tx *Tx) Keep(e Entry, row Alg, h values.Head) Entry {
	tx.changes(e.key)
	s := e.shard
	c, there, before := &s.cell, !e.missing(), 0
	switch {
	case there:
		c = tx.load(&e)
		before = c.head().Count
		s.countLasting(tx.db, -1)
	case h.Count == 0:
		return e
	default:
		c.params, c.past, c.state = Params{Alg: row}, past{}, state{}
	}
	c.setHead(h)
	e.alg = row
	tx.save(&e, there)
	if row == List && h.Count > before {
		tx.notices.grew(tx.db, e.key, h.Count)
	}
	if h.Count == 0 {
		tx.Drop(e)
		e.place = place{}
	}
	return e
}

// Encoding returns the name that OBJECT ENCODING has for the contents of an entry, which is
// a plain value.
func (tx *Tx) Encoding(e Entry) string {
	c := tx.load(&e)
	switch {
	case c.params.Alg == Int:
		return "int"
	case c.alg().tail == nil:
		return "embstr"
	}
	return c.head().Ref.Encoding()
}

// Cursor returns the cursor that clients and scripts see for a place in a collection.
func (tx *Tx) Cursor(place uint64) uint64 {
	if tx.Level() < secretsLevel {
		return place
	}
	return tx.e.secrets.scans.Map(place)
}

// Place returns the place in a collection for a cursor. Any number is a valid cursor.
func (tx *Tx) Place(cursor uint64) uint64 {
	if tx.Level() < secretsLevel {
		return cursor
	}
	return tx.e.secrets.scans.Invert(cursor)
}
