package engine

// A paramID is the number of parameters in a shard's paramTable.
type paramID uint32

// paramTable gives each set of parameters in use a small number, so that keys need not
// store them. It counts the keys of each set and forgets unused sets, except those of plain
// values: few, and often used again.
//
// Invariant: keys of an entry is the number of records with its number, and index has the number of
// each entry that is in use.
type paramTable struct {
	list  []paramEntry
	free  []paramID
	index map[paramKey]paramID
	last  paramID // returned last; most calls need it again
}

// A paramKey is the content of a key's parameter number: the parameters and the key's
// past, which few keys have.
type paramKey struct {
	params Params
	past   past
}

// words returns the number of words of state in a record.
func (k *paramKey) words() uint8 { return uint8(k.params.alg().words + int(k.past.held)) }

type paramEntry struct {
	paramKey
	keys  int64
	words uint8 // of state in a record
}

// paramEntryBytes is the memory of a set of parameters, with its share of the index.
const paramEntryBytes = 192

func (t *paramTable) get(id paramID) *Params { return &t.list[id].params }

// bytes returns the memory of the table.
func (t *paramTable) bytes() int64 { return int64(len(t.list)) * paramEntryBytes }

// retain returns the number of the cell's parameters and past, and counts another key.
func (t *paramTable) retain(c *cell) paramID {
	if int(t.last) < len(t.list) && t.list[t.last].keys > 0 && t.matches(t.last, c) {
		t.list[t.last].keys++
		return t.last
	}
	k := paramKey{c.params, c.past}
	id, ok := t.index[k]
	if !ok {
		id = t.add(k)
	}
	t.list[id].keys++
	t.last = id
	return id
}

// matches reports whether id is the number of the cell's parameters and past.
func (t *paramTable) matches(id paramID, c *cell) bool {
	e := &t.list[id]
	if c.params.Alg.IsPlain() { // all plain values of a row have the same
		return e.params.Alg == c.params.Alg
	}
	return e.params == c.params && e.past == c.past
}

func (t *paramTable) add(k paramKey) paramID {
	if t.index == nil {
		t.index = make(map[paramKey]paramID)
	}
	if n := len(t.free); n > 0 {
		id := t.free[n-1]
		t.free = t.free[:n-1]
		t.list[id] = paramEntry{paramKey: k, words: k.words()}
		t.index[k] = id
		return id
	}
	id := paramID(len(t.list))
	t.list = append(t.list, paramEntry{paramKey: k, words: k.words()})
	t.index[k] = id
	return id
}

// release counts one key less for id.
func (t *paramTable) release(id paramID) {
	e := &t.list[id]
	e.keys--
	if e.keys > 0 || e.params.Alg.IsPlain() {
		return
	}
	delete(t.index, e.paramKey)
	t.free = append(t.free, id)
}

// trim releases the memory if no parameters are in use.
func (t *paramTable) trim() {
	for i := range t.list {
		if t.list[i].keys > 0 {
			return
		}
	}
	*t = paramTable{}
}
