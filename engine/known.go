package engine

// maxKnown is the number of a call's keys whose places a Tx keeps. Scripts name the same
// few keys again and again.
const maxKnown = 4

// A knownKey is a key that a call names.
type knownKey struct {
	key   []byte // the argument itself
	hash  uint64
	shard *shard
	// seen is set if the place of the record, or none, was found, and looked if the record is
	// known to live. moves is the number of moves of the Tx then. Invariant: place is valid as long
	// as the Tx has the same number of moves.
	seen   bool
	looked bool
	moves  uint32
	place  place
}

// A keyPlace is where a key of a call belongs.
type keyPlace struct {
	arg   int // index in Call.Args
	shard uint16
	hash  uint64
}

// A callKeys is the part of scratch.places of a call.
type callKeys struct {
	from, to int
	all      bool // it may touch other keys too
}

// knows makes the first keys of a call known. Requires: their shards are entered.
func (tx *Tx) knows(c *Call, places []keyPlace) {
	tx.knowns = min(len(places), maxKnown)
	for i := range tx.knowns {
		p, k := &places[i], &tx.known[i]
		k.key, k.hash, k.shard, k.seen, k.looked = c.Args[p.arg], p.hash, &tx.e.shards[p.shard], false, false
	}
}

// release drops the references to the bytes of other owners, and the worker.
func (tx *Tx) release() {
	if tx.Worker != nil {
		tx.Worker.Release()
		tx.Worker = nil
	}
	if tx.knowns > 0 || tx.key != nil {
		clear(tx.known[:])
		tx.knowns, tx.key, tx.number = 0, nil, Number{}
	}
}

// knownKey returns a key if it is known, or nil. It compares the memory of keys, since the
// arguments of a call do not change.
func (tx *Tx) knownKey(key []byte) *knownKey {
	if len(key) == 0 {
		return nil
	}
	for i := range tx.knowns {
		if k := &tx.known[i]; len(k.key) == len(key) && &k.key[0] == &key[0] {
			return k
		}
	}
	return nil
}

// findRecord is shard.find for a key, which is k if that is known and otherwise nil. The record
// may have expired.
func (tx *Tx) findRecord(k *knownKey, s *shard, h uint64, key []byte) (p page, slot int, found bool) {
	switch {
	case k == nil:
		return s.find(h, key)
	case k.seen && k.moves == tx.moves && k.place.page == nil:
		return page{}, 0, false
	case k.seen && k.moves == tx.moves:
		return s.slab.open(k.place.page), k.place.slot, true
	}
	p, slot, found = s.find(h, key)
	k.seen, k.looked, k.moves, k.place = true, false, tx.moves, place{}
	if found {
		k.place = place{page: p.pageHead, slot: slot}
	}
	return p, slot, found
}
