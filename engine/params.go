package engine

// A paramID is the number of parameters in a shard's paramTable.
type paramID uint32

// paramTable gives each set of parameters in use a small number, so that a key
// need not hold them. It counts the keys that use them and forgets those that
// none does.
type paramTable struct {
	list  []paramEntry
	free  []paramID
	index map[paramKey]paramID
	last  paramID // the one given last: most calls ask for it again
}

// A paramKey is the meaning of the number of a key's parameters: these, and the
// key's past, which few keys have.
type paramKey struct {
	params Params
	past   past
}

type paramEntry struct {
	paramKey
	keys int64
}

// paramEntryBytes is the memory of a set of parameters, with its share of the index.
const paramEntryBytes = 160

func (t *paramTable) get(id paramID) *Params { return &t.list[id].params }

// bytes is the memory of the table.
func (t *paramTable) bytes() int64 { return int64(len(t.list)) * paramEntryBytes }

// retain returns the number of the cell's parameters and past, for one key more.
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

// holds says whether id stands for the cell's parameters and past.
func (t *paramTable) matches(id paramID, c *cell) bool {
	e := &t.list[id]
	return e.params == c.params && e.past == c.past
}

func (t *paramTable) add(k paramKey) paramID {
	if t.index == nil {
		t.index = make(map[paramKey]paramID)
	}
	if n := len(t.free); n > 0 {
		id := t.free[n-1]
		t.free = t.free[:n-1]
		t.list[id].paramKey = k
		t.index[k] = id
		return id
	}
	id := paramID(len(t.list))
	t.list = append(t.list, paramEntry{paramKey: k})
	t.index[k] = id
	return id
}

// release says that one key less uses id.
func (t *paramTable) release(id paramID) {
	e := &t.list[id]
	e.keys--
	if e.keys > 0 {
		return
	}
	delete(t.index, e.paramKey)
	t.free = append(t.free, id)
}

// trim gives the memory back if no key uses any.
func (t *paramTable) trim() {
	if len(t.index) == 0 {
		*t = paramTable{}
	}
}
