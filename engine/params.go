package engine

// A paramID is the number of parameters in a shard's paramTable.
type paramID uint32

// paramTable gives each set of parameters in use a small number, so that a key
// need not hold them. It counts the keys that use them and forgets those that
// none does.
type paramTable struct {
	list  []paramEntry
	free  []paramID
	index map[Params]paramID
	last  paramID // the one given last: most calls ask for it again
}

type paramEntry struct {
	params Params
	keys   int64
}

// paramEntryBytes is what a set of parameters costs, with its share of the index.
const paramEntryBytes = 120

func (t *paramTable) get(id paramID) *Params { return &t.list[id].params }

// bytes is the memory of the table.
func (t *paramTable) bytes() int64 { return int64(len(t.list)) * paramEntryBytes }

// retain is the number of p, with one key more.
func (t *paramTable) retain(p *Params) paramID {
	if int(t.last) < len(t.list) && t.list[t.last].keys > 0 && t.list[t.last].params == *p {
		t.list[t.last].keys++
		return t.last
	}
	id, ok := t.index[*p]
	if !ok {
		id = t.add(p)
	}
	t.list[id].keys++
	t.last = id
	return id
}

func (t *paramTable) add(p *Params) paramID {
	if t.index == nil {
		t.index = make(map[Params]paramID)
	}
	if n := len(t.free); n > 0 {
		id := t.free[n-1]
		t.free = t.free[:n-1]
		t.list[id].params = *p
		t.index[*p] = id
		return id
	}
	id := paramID(len(t.list))
	t.list = append(t.list, paramEntry{params: *p})
	t.index[*p] = id
	return id
}

// release says that one key less uses id.
func (t *paramTable) release(id paramID) {
	e := &t.list[id]
	e.keys--
	if e.keys > 0 {
		return
	}
	delete(t.index, e.params)
	t.free = append(t.free, id)
}

// trim gives the memory back if no key uses any.
func (t *paramTable) trim() {
	if len(t.index) == 0 {
		*t = paramTable{}
	}
}
