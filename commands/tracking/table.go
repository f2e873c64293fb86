package tracking

import (
	"slices"
	"sync"

	"limitsrv/commands/resp"
	"limitsrv/engine"
)

// Bounds of a Table.
const (
	// DefaultMax is the default maximum number of keys, as in Redis.
	DefaultMax = 1_000_000
	// maxBytes bounds the estimated memory, in bytes, of the keys and their readers.
	maxBytes = 256 << 20
	// entryBytes is the estimated memory of a key without its name. readerBytes is the memory of
	// each reader after the first.
	entryBytes  = 160
	readerBytes = 48
)

// A Table holds the keys that the clients of a node have read. Concurrency: any number of
// goroutines may call its methods.
type Table struct {
	o Options

	mu       sync.Mutex
	max      int
	maxBytes int64
	keys     map[string]*entry
	items    int64 // pairs of a key and a reader
	bytes    int64
	clients  map[*Client]struct{} // the clients that track
	prefixes prefixSet
	due      dueList
}

// Options are the functions of the node that a [Table] calls.
type Options struct {
	// Track adds to the number of clients that track, see engine.Notices.
	Track func(clients int64)
	// Look answers a read-only batch from the state of this node, and returns its time. nil: this node
	// has no keys. Then the table knows only the expiries that Lookups find.
	Look func(*engine.Batch) engine.Instant
	// Await is called when the table has found an expiry. The caller must then call Expire
	// regularly while Expires is true.
	Await func()
}

// An entry is a tracked key with its readers. It is removed at the next change of the key.
type entry struct {
	key    string
	first  *Client // the first reader; nil: no reader
	more   map[*Client]struct{}
	looked uint16 // a bit for each database with a known expiry
	// broadcast is set if clients with prefixes must get the expiry. expires is set if an expiry
	// is known.
	broadcast, expires bool
	removed            bool // removed from the table
}

// A Read is a key that a client reads.
type Read struct {
	DB  uint8
	Key []byte
}

// Sizes are the numbers of entries of a Table.
type Sizes struct {
	Clients, Keys, Prefixes int
	Items                   int64 // pairs of a key and a reader
}

// New returns an empty table.
func New(o Options) *Table {
	return &Table{
		o: o, max: DefaultMax, maxBytes: maxBytes, keys: map[string]*entry{},
		clients: map[*Client]struct{}{},
	}
}

// Max returns the maximum number of keys. 0: only the memory is bounded.
func (t *Table) Max() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.max
}

// SetMax sets Max. It removes keys above the bound and sends a message to their readers.
func (t *Table) SetMax(keys int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.max = keys
	t.trim()
}

// Sizes returns the numbers of the table.
func (t *Table) Sizes() Sizes {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Sizes{Clients: len(t.clients), Keys: len(t.keys), Prefixes: len(t.prefixes.clients), Items: t.items}
}

// Register adds keys that a client is about to read. It reports whether the client tracks.
// Requires: the reads are decided after it returns, and messages to the client are delivered after
// the answers.
func (t *Table) Register(c *Client, reads []Read) bool {
	tracks, fresh := t.register(c, reads)
	t.findExpiries(fresh)
	return tracks
}

// RegisterIn is Register for a node without keys. It appends the lookups of the expiries to the batch
// of the reads: another node decides the batch, and answers reads and lookups at the same moment.
func (t *Table) RegisterIn(c *Client, reads []Read, b *engine.Batch) *Lookups {
	_, fresh := t.register(c, reads)
	if fresh == nil || len(fresh.reads) == 0 {
		return nil
	}
	l := &Lookups{unknown: *fresh, first: len(b.Ops)}
	fresh.addTo(b)
	return l
}

// Answered takes the answers to lookups from a batch that was decided before now.
func (t *Table) Answered(l *Lookups, b *engine.Batch, now engine.Instant) {
	if t.noteExpiries(&l.unknown, now, b.Decisions[l.first:]) {
		t.o.Await()
	}
}

// register is Register without the lookup of expiries. It returns the keys with an unknown expiry.
func (t *Table) register(c *Client, reads []Read) (tracks bool, fresh *unknown) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.on {
		return false, nil
	}
	fresh = new(unknown)
	for _, r := range reads {
		switch {
		case !c.options.Broadcast:
			e := t.entryOf(r.Key)
			t.addReader(e, c)
			fresh.add(e, r)
		case c.hears(r.Key):
			e := t.entryOf(r.Key)
			e.broadcast = true
			fresh.add(e, r)
		}
	}
	t.trim()
	return true, fresh
}

// Concerns reports whether a batch may change a key of the table, or a key with a prefix of a
// broadcast. It does not find the keys that a script names by itself. Cost: linear in the ops and the
// arguments.
func (t *Table) Concerns(b *engine.Batch) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.keys) == 0 && len(t.prefixes.clients) == 0 {
		return false
	}
	for i := range b.Ops {
		if op := &b.Ops[i]; op.Kind == engine.Flush || t.concerns(op.Key) {
			return true
		}
	}
	for i := range b.Calls {
		if slices.ContainsFunc(b.Calls[i].Args, t.concerns) {
			return true
		}
	}
	return false
}

// concerns is Concerns for a key.
func (t *Table) concerns(key []byte) bool { return t.keys[string(key)] != nil || t.prefixes.hears(key) }

// entryOf returns the entry of a key, and adds it if necessary.
func (t *Table) entryOf(key []byte) *entry {
	e := t.keys[string(key)]
	if e == nil {
		e = &entry{key: string(key)}
		t.keys[e.key] = e
		t.bytes += entryBytes + int64(len(e.key))
	}
	return e
}

// addReader adds a reader to an entry, unless it is one already.
func (t *Table) addReader(e *entry, c *Client) {
	switch {
	case e.first == c:
		return
	case e.first == nil:
		e.first = c
	default:
		if _, there := e.more[c]; there {
			return
		}
		if e.more == nil {
			e.more = map[*Client]struct{}{}
		}
		e.more[c] = struct{}{}
		t.bytes += readerBytes
	}
	t.items++
}

// trim removes arbitrary keys until the table is within its bounds.
func (t *Table) trim() {
	for _, e := range t.keys {
		if t.bytes <= t.maxBytes && (t.max == 0 || len(t.keys) <= t.max) {
			return
		}
		t.drop(e)
	}
}

// drop removes a key that may have changed, and sends messages for it.
func (t *Table) drop(e *entry) {
	t.invalidate(e, 0)
	if e.broadcast {
		t.broadcast([]engine.Change{{Key: []byte(e.key)}})
	}
}

// Changed sends messages about changed keys to their readers, and to clients with prefixes of the
// keys.
func (t *Table) Changed(changes []engine.Change) { t.findExpiries(t.changed(changes)) }

// changed is Changed without the lookup of expiries. It returns the keys with an expiry that
// broadcasts need.
func (t *Table) changed(changes []engine.Change) (fresh *unknown) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range changes {
		if changes[i].All {
			t.invalidateAll()
			return nil
		}
	}
	for i := range changes {
		if e := t.keys[string(changes[i].Key)]; e != nil {
			t.invalidate(e, changes[i].Origin)
		}
	}
	if len(t.prefixes.clients) == 0 {
		return nil
	}
	t.broadcast(changes)
	if t.o.Look == nil {
		return nil
	}
	fresh = new(unknown)
	for i := range changes {
		if c := &changes[i]; t.prefixes.hears(c.Key) {
			e := t.entryOf(c.Key)
			e.broadcast = true
			fresh.add(e, Read{c.DB, c.Key})
		}
	}
	t.trim()
	return fresh
}

// invalidateAll removes all keys and sends all clients that track the same message.
func (t *Table) invalidateAll() {
	t.clear()
	m := invalidateAll()
	for c := range t.clients {
		c.send(m)
	}
}

// clear removes all keys.
func (t *Table) clear() {
	for _, e := range t.keys {
		e.removed = true
	}
	clear(t.keys)
	t.due, t.items, t.bytes = nil, 0, 0
}

// invalidate removes a key and sends a message to its readers, except to the origin of the change
// if it has NoLoop.
func (t *Table) invalidate(e *entry, origin int64) {
	t.remove(e)
	var m resp.Message
	for c := range e.readers {
		if !c.on || c.options.Broadcast || c.ignores(origin) {
			continue
		}
		if m.Three == nil {
			m = invalidate([]string{e.key})
		}
		c.send(m)
	}
}

// readers yields the readers of the entry.
func (e *entry) readers(yield func(*Client) bool) {
	if e.first == nil || !yield(e.first) {
		return
	}
	for c := range e.more {
		if !yield(c) {
			return
		}
	}
}

// remove removes a key.
func (t *Table) remove(e *entry) {
	delete(t.keys, e.key)
	e.removed = true
	t.bytes -= entryBytes + int64(len(e.key)) + readerBytes*int64(len(e.more))
	for range e.readers {
		t.items--
	}
}
