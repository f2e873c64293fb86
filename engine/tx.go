package engine

// A Tx is the window of a call on the shards that were entered for it. It never looks at
// the memory bound, so that the effects of a call are the same on all nodes.
//
// Concurrency: only the goroutine that carries out the call may use it, until Do returns.
type Tx struct {
	// Scratch is memory that a call may use and leave for the next.
	Scratch []byte
	// Worker is for the use of Commands: the calls of a batch share it. It is released, and nil
	// again, when the batch is Reset.
	Worker interface{ Release() }

	buffer []byte // as Scratch, for Write
	known  [maxKnown]knownKey
	number Number // of the method Number
	txCall
}

// A txCall is the part of a Tx that each call begins anew.
type txCall struct {
	e       *Engine
	key     []byte    // of the op
	only    *shard    // the entered shard if only one is entered
	entered *shardSet // the entered shards otherwise
	notices *Notices
	// The cell of the shard holds has the record at place, if there were no moves since.
	holds   *shard
	holdsAt place
	txState
}

// A txState is the part of a txCall without pointers, which costs less to clear.
type txState struct {
	now       Instant
	knowns    int // of Tx.known
	random    Random
	micros    int64 // Call.Micros
	work      int64
	effects   effects
	room      int    // see AnswerRoom
	claimed   int    // length of the answer in bytes, see ClaimAnswer
	moves     uint32 // number of changes that may have moved records
	holdsFrom uint32 // of them, see txCall.holds
	db        uint8
	level     uint8
	partial   bool // other answers of the batch have reduced room
	refused   bool // see RefuseAnswer
	exhausted bool // see Exhausted
	seeded    bool
	tight     bool
	looking   bool // the batch is read-only: not even expired keys may be forgotten
	wrote     bool
	sums      bool // into effects
	tracked   bool // note changed keys, with the origin
	origin    int64
}

// An Entry is a key in a [Tx], there or not. It is valid until the Tx ends, but an entry
// that was not there stays so: after a Put use the entry that Put returns.
type Entry struct {
	place
	shard *shard
	hash  uint64
	key   []byte
	alg   Alg
	moves uint32 // of the Tx when place was found
}

// begin begins the Tx of an op, a Do.
func (tx *Tx) begin(e *Engine, now Instant, op *Op) {
	tx.Scratch, tx.buffer = tx.Scratch[:0], tx.buffer[:0]
	tx.e, tx.key = e, op.Key
	tx.only, tx.entered, tx.notices, tx.holds = nil, nil, nil, nil // holdsAt says nothing without holds
	tx.txState = txState{}
	tx.now, tx.db, tx.room = now, op.DB, MaxAnswerBytes
}

// run carries out a call, and reports whether it may have changed the state.
func (tx *Tx) run(c *Call) (changed bool) {
	c.Answer = c.Answer[:0]
	tx.micros = int64(c.Micros)
	if c.Timed {
		tx.e.moments.told(tx.Micros())
	}
	tx.e.commands.Do(tx, c)
	if cap(tx.Scratch) > maxKeptAnswer {
		tx.Scratch = nil
	}
	if cap(tx.buffer) > maxKeptAnswer {
		tx.buffer = nil
	}
	return tx.wrote
}

// Now returns the time of the batch.
func (tx *Tx) Now() Instant { return tx.now }

// AddHeavy counts steps of a call beyond the steps of a light call, if n is positive.
func (tx *Tx) AddHeavy(n int64) { tx.e.AddHeavy(n) }

// AddWork counts work of a command beyond its words and its answer, n elements visited, so that
// a script pays for it. Like all that a script sees, it must follow from contents alone.
func (tx *Tx) AddWork(n int) { tx.work += int64(n) }

// AddBytes is AddWork for bytes that are copied or read.
func (tx *Tx) AddBytes(n int) { tx.AddWork(n / bytesPerElement) }

// bytesPerElement is the number of bytes that need about as much time as an element.
const bytesPerElement = 64

// TakeWork returns the work that was counted since the last call of it.
func (tx *Tx) TakeWork() (n int64) {
	n, tx.work = tx.work, 0
	return n
}

// AddHeavy is Tx.AddHeavy for work before a call. Concurrency: any goroutine may call it.
func (e *Engine) AddHeavy(n int64) {
	if n > 0 {
		e.heavy.Add(n)
	}
}

// HeavySteps returns the steps that AddHeavy has counted. It is not part of the state, so no
// decision may depend on it.
func (e *Engine) HeavySteps() int64 { return e.heavy.Load() }

// Micros returns the time that the call is told, in microseconds since the Unix epoch. No
// two Timed calls are told the same.
func (tx *Tx) Micros() int64 { return int64(tx.now)/1000 + tx.micros }

// Level returns Batch.Level, or the newest if that is 0.
func (tx *Tx) Level() uint8 {
	if tx.level == 0 {
		return tx.e.level
	}
	return tx.level
}

// Tight reports whether the batch is Tight, so that Fits and Put may be false.
func (tx *Tx) Tight() bool { return tx.tight }

// Random returns the random generator of the call. Its seed follows from the time of the batch, the
// call's first key and Call.Micros. At level 1 Micros is not used, so calls of the same batch draw
// the same numbers.
func (tx *Tx) Random() *Random {
	if !tx.seeded {
		key, own := tx.e.secrets.random, uint64(tx.micros)*ownSeed
		if tx.Level() < secretsLevel {
			key, own = tx.e.secrets.state, 0
		}
		tx.random.state, tx.seeded = uint64(tx.now)^own^sumIn(key, tx.db, tx.key), true
	}
	return &tx.random
}

// ownSeed spreads the bits of Call.Micros, so that a later time with fewer Micros gives another
// seed.
const ownSeed = 0xd1b54a32d192ed03

// Find returns the entry of a key of the call's database, and whether the key is live, of
// any algorithm or type. Requires: the shard of the key was entered, as it is for the keys
// that Commands.Keys named. The Entry refers to key.
func (tx *Tx) Find(key []byte) (e Entry, found bool) {
	e.key = key
	k := tx.knownKey(key)
	switch {
	case k == nil:
		e.shard, e.hash = tx.locate(tx.db, key)
	case k.looked && k.moves == tx.moves:
		e.shard, e.hash, e.place, e.moves = k.shard, k.hash, k.place, k.moves
		if e.missing() {
			return e, false
		}
		e.alg = tx.load(&e).params.Alg
		return e, true
	default:
		e.shard, e.hash = k.shard, k.hash
	}
	p, i, found := tx.findRecord(k, e.shard, e.hash, key)
	if found {
		e.place = place{page: p.pageHead, slot: i}
		c := e.shard.load(p, i)
		e.alg = c.params.Alg
		tx.hold(&e)
		if !c.lasts() && !c.lives(tx.now) {
			tx.forget(&e)
			found = false
		}
	}
	e.moves = tx.moves
	if k != nil {
		k.seen, k.looked, k.moves, k.place = false, true, tx.moves, e.place
	}
	return e, found
}

// hold notes that the cell has the record of an entry.
func (tx *Tx) hold(e *Entry) {
	tx.holds, tx.holdsAt, tx.holdsFrom = e.shard, e.place, tx.moves
}

// forget removes e, an expired entry, unless tx only looks.
func (tx *Tx) forget(e *Entry) {
	if !tx.looking {
		e.shard.remove(e.place)
		e.shard.stats.Forgotten++
		tx.moves++
	}
	e.place = place{}
}

// locate returns the shard of a key, which must have been entered, and its hash.
func (tx *Tx) locate(db uint8, key []byte) (s *shard, h uint64) {
	number, h := tx.shardNumber(db, key)
	return &tx.e.shards[number], h
}

// shardNumber is locate with the number of the shard.
func (tx *Tx) shardNumber(db uint8, key []byte) (shard uint16, h uint64) {
	shard, h = tx.e.locate(db, key)
	if s := &tx.e.shards[shard]; s != tx.only && (tx.only != nil || !tx.entered.has(shard)) {
		panic("engine: a call uses a key that it has not named")
	}
	return shard, h
}

// load fills the cell of the entry's shard, and returns it and the entry's place. Requires:
// the entry is there.
func (tx *Tx) load(e *Entry) *cell {
	if e.moves != tx.moves {
		p, i, found := e.shard.find(e.hash, e.key)
		if !found {
			panic("engine: a call uses an entry that it has dropped")
		}
		e.place, e.moves = place{page: p.pageHead, slot: i}, tx.moves
	}
	if tx.holds == e.shard && tx.holdsAt == e.place && tx.holdsFrom == tx.moves {
		return &e.shard.cell
	}
	tx.hold(e)
	return e.shard.load(e.shard.slab.open(e.page), e.slot)
}

// Alg returns the algorithm or the row of an entry when it was found or put. Requires: it
// was there.
func (e Entry) Alg() Alg { return e.alg }

// Expiry returns the expiry of a plain value in milliseconds since the Unix epoch, 0 for no
// expiry.
func (tx *Tx) Expiry(e Entry) int64 { return int64(tx.load(&e).state[0]) }

// Reset returns the time until a limit is fully reset, or a plain value expires, or Never.
func (tx *Tx) Reset(e Entry) Span {
	return tx.load(&e).lifetime(tx.now)
}

// Int returns the number of an entry, if it is a plain value of an INT row.
func (tx *Tx) Int(e Entry) (n int64, ok bool) {
	if c := tx.load(&e); c.params.Alg == Int {
		return int64(c.state[1]), true
	}
	return 0, false
}

// Len returns the length of a string in bytes. Requires: e is a string, as for Bytes.
func (tx *Tx) Len(e Entry) int { return tx.load(&e).plainLen() }

// Bytes appends a string to dst, a number in decimal form.
func (tx *Tx) Bytes(e Entry, dst []byte) []byte { return tx.load(&e).appendPlain(dst) }

// Range appends the bytes of a string from one offset up to another to dst. Requires: it has
// them.
func (tx *Tx) Range(e Entry, from, to int, dst []byte) []byte {
	c := tx.load(&e)
	if c.params.Alg == Blob {
		t := c.string()
		return t.Append(dst, from, to)
	}
	tx.buffer = c.appendPlain(tx.buffer[:0])
	return append(dst, tx.buffer[from:to]...)
}

// writes notes that the call writes.
func (tx *Tx) writes() {
	if tx.looking {
		panic("engine: a read-only call writes")
	}
	tx.wrote = true
}

// changes notes that the call changes a key.
func (tx *Tx) changes(key []byte) {
	tx.writes()
	if tx.tracked {
		tx.notices.changed.add(Change{DB: tx.db, Key: key, Origin: tx.origin})
	}
}

// effectsBits are the bits of a shard's number in hashes for the sums of effects: the bits for 16
// shards, because logs contain such sums. So nodes with other numbers of shards agree with them.
const effectsBits = 4

// effectsHash returns the hash of a key for the sums of effects. hash is the hash of the key in the
// table. At level 1 another key is used, because logs of earlier versions contain such sums.
func (tx *Tx) effectsHash(hash uint64, key []byte) uint64 {
	with := &tx.e.secrets.state
	if tx.Level() >= secretsLevel {
		if tx.e.bits == effectsBits {
			return hash
		}
		with = &tx.e.secrets.table
	}
	return tailored(sumIn(*with, tx.db, key), effectsBits, tx.db)
}
