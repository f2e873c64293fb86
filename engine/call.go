package engine

// A Call is one command line on plain values, of an op of kind Do. It is applied at a
// single moment: no other caller sees a state within it.
type Call struct {
	Command uint16 // a number of Options.Commands
	// ReadOnly is set if the call can change nothing, so that Look accepts it. It follows
	// from Command.
	ReadOnly bool
	// Timed is set if the call reads the time, as scripts do. Draws is set if the call draws
	// random numbers but does not read the time. Both follow from Command.
	Timed bool
	Draws bool
	// Micros is added to the time of the batch, in microseconds, for a Timed call. For a call that
	// Draws it is a number that no other such call has at the time of the batch. See
	// Engine.SetMoments.
	Micros uint32
	// Light is a hint that a Timed call takes microseconds, so that other calls may wait for it
	// in other shards too. It is no part of logs: no decision depends on it.
	Light bool
	Args  [][]byte // without the name
	// Answer is the answer, in a form that Commands defines, valid after Apply until
	// Reset. It is empty if it did not fit into Batch.AnswerBytes. The engine keeps its
	// memory for the next batch.
	Answer []byte
}

// Commands are the commands of calls. Its methods are pure: the effects and the answer of a
// call depend only on the call, the Level of its batch, and its Tx. Concurrency: any number
// of goroutines may call them.
type Commands interface {
	// Check sets ReadOnly, Timed and Draws. It returns an error if a call from outside has an
	// unknown command or a wrong number of arguments. The other methods require a checked call.
	Check(c *Call) error
	// Level is the newest level of meaning, see Batch.Level.
	Level() uint8
	// Keys appends the indexes in c.Args of the keys that the call may touch. all is set if
	// it may touch any key.
	Keys(c *Call, dst []int) (keys []int, all bool)
	// Do carries out a call: it appends the answer to c.Answer, which is empty.
	Do(tx *Tx, c *Call)
}

// A Describer is a Commands that can describe calls to an operator.
type Describer interface {
	// Describe returns the name of a call that Check accepts. For a run of a script, script is the
	// SHA-1 in hexadecimal; for a run of a function, its name. For other calls script is nil.
	Describe(c *Call) (name string, script []byte)
}

// severalShards is the shard number of an op that is not applied within the same shard: a
// call that may touch keys of several.
const severalShards = 1<<16 - 1

// locateCall sets the shard and the hash of op i, a Do, and its Key to the first key of the
// call, and notes the places of all its keys.
func (e *Engine) locateCall(b *Batch, i int) {
	if e.commands == nil {
		panic("engine: a Do without Options.Commands")
	}
	op := &b.Ops[i]
	c := b.CallOf(op)
	keys, all := e.commands.Keys(c, b.scratch.keys[:0])
	places, from, several := b.scratch.places, len(b.scratch.places), all
	for n, k := range keys {
		shard, hash := e.locate(op.DB, c.Args[k])
		places = append(places, keyPlace{k, shard, hash})
		if n == 0 {
			op.Key = c.Args[k]
			b.scratch.shards[i], b.scratch.hashes[i] = shard, hash
		} else if shard != b.scratch.shards[i] {
			several = true
		}
	}
	if len(keys) == 0 {
		op.Key = nil
		b.scratch.shards[i], b.scratch.hashes[i] = e.locate(op.DB, nil)
	}
	b.scratch.keys, b.scratch.places, b.scratch.calls[op.call()] = keys, places, callKeys{from, len(places), all}
	if several {
		b.scratch.shards[i] = severalShards
	}
}

// placesOf returns the places of the keys of a call.
func (s *scratch) placesOf(call int) []keyPlace {
	k := &s.calls[call]
	return s.places[k.from:k.to]
}

// addShards adds the shards of op i to a set.
func (e *Engine) addShards(set *shardSet, b *Batch, i int) {
	op := &b.Ops[i]
	switch {
	case op.Kind == Flush:
		set.addAll(len(e.shards))
	case op.Kind == Learn || op.Kind == Needs:
	case b.scratch.shards[i] != severalShards:
		set.add(b.scratch.shards[i])
	case b.scratch.calls[op.call()].all:
		set.addAll(len(e.shards))
	default:
		for _, p := range b.scratch.placesOf(op.call()) {
			set.add(p.shard)
		}
	}
}

// do carries out op i, a Do, after its shards have been locked.
func (e *Engine) do(now Instant, b *Batch, i int) {
	op := &b.Ops[i]
	c := b.CallOf(op)
	b.tx.begin(e, now, op)
	if b.AnswerBytes > 0 && e.holdBack(b, c) {
		b.holdAnswer(i, c)
		return
	}
	b.tx.knows(c, b.scratch.placesOf(op.call()))
	b.tx.level, b.tx.tight, b.tx.looking, b.tx.notices = b.Level, b.Tight, b.readOnly, b.Notices
	if b.Notices.Tracks() {
		b.tx.tracked, b.tx.origin = true, b.Origin
	}
	if shard := b.scratch.shards[i]; shard != severalShards {
		b.tx.only = &e.shards[shard]
	} else {
		b.tx.entered = &b.scratch.entered
	}
	b.tx.sums = e.effects && !b.readOnly
	if b.Atomic {
		b.tx.exhausted = e.exhausts(b, c)
	}
	b.Decisions[i] = Decision{Changed: b.tx.run(c)}
	if b.Atomic {
		b.countWork(c)
	}
	if b.tx.sums {
		b.Effects += b.tx.effects.finish(b.tx.effectsHash(b.scratch.hashes[i], op.Key), c.Answer, c.Command)
	}
	if b.AnswerBytes > 0 {
		b.countAnswer(i, c)
	}
}

// AddCall appends an op of kind Do, and returns its call, which the caller must fill in. Its
// Args and Answer are empty and have memory of an earlier call.
func (b *Batch) AddCall(db uint8) *Call {
	b.Ops = append(b.Ops, Op{Kind: Do, DB: db, N: int64(len(b.Calls))})
	return b.newCall()
}

// newCall appends a call with the memory of an earlier call.
func (b *Batch) newCall() *Call {
	n := len(b.Calls)
	if n < cap(b.Calls) {
		b.Calls = b.Calls[:n+1]
		old := &b.Calls[n]
		*old = Call{Args: old.Args[:0], Answer: old.Answer[:0]}
	} else {
		b.Calls = append(b.Calls, Call{})
	}
	return &b.Calls[n]
}

// Join appends the ops and calls of another batch, whose arguments both then share. The
// memory of its answers moves along, until TakeAnswers.
func (b *Batch) Join(other *Batch) {
	from, first := len(b.Ops), int64(len(b.Calls))
	b.Ops = append(b.Ops, other.Ops...)
	if len(other.Calls) == 0 {
		return
	}
	for i := range other.Calls {
		c := &other.Calls[i]
		b.Calls = append(b.Calls, *c)
		c.Answer = nil
	}
	for i := from; i < len(b.Ops); i++ {
		if op := &b.Ops[i]; op.Kind == Do {
			op.N += first
		}
	}
}

// TakeAnswers moves the answers of the first of some calls, those that Join has copied from
// the batch, to the batch's own, and returns the other calls.
func (b *Batch) TakeAnswers(calls []Call) (rest []Call) {
	for i := range b.Calls {
		b.Calls[i].Answer, calls[i].Answer = calls[i].Answer, nil
		b.Held = b.Held || len(b.Calls[i].Answer) == 0
	}
	return calls[len(b.Calls):]
}

// Sizes returns the number of arguments of the calls, and the bytes of these and of the keys and
// ids of the ops. Cost: linear in both.
func (b *Batch) Sizes() (bytes, args int) {
	for i := range b.Ops {
		bytes += len(b.Ops[i].Key) + len(b.Ops[i].ID)
	}
	for i := range b.Calls {
		args += len(b.Calls[i].Args)
		for _, arg := range b.Calls[i].Args {
			bytes += len(arg)
		}
	}
	return bytes, args
}

// CopyCalls makes the calls of the batch copies of another batch's, each argument by keep.
func (b *Batch) CopyCalls(other *Batch, keep func(arg []byte) []byte) {
	b.Calls = b.Calls[:0]
	for i := range other.Calls {
		from := &other.Calls[i]
		c := b.newCall()
		c.Command, c.ReadOnly, c.Timed, c.Draws, c.Micros = from.Command, from.ReadOnly, from.Timed, from.Draws, from.Micros
		for _, arg := range from.Args {
			c.Args = append(c.Args, keep(arg))
		}
	}
}

// maxKeptAnswer is the largest capacity of an answer whose memory is kept for the next
// batch.
const maxKeptAnswer = 16 << 10

// resetCalls empties Calls.
func (b *Batch) resetCalls() { b.dropCalls(0) }

// dropCalls removes the calls from index n on, and releases the memory that their arguments refer
// to.
func (b *Batch) dropCalls(n int) {
	for i := range b.Calls[n:] {
		c := &b.Calls[n+i]
		clear(c.Args)
		if cap(c.Answer) > maxKeptAnswer {
			c.Answer = nil
		}
	}
	b.Calls = b.Calls[:n]
}

// Truncate removes the ops and the calls from the given indexes on. Requires: they belong together.
func (b *Batch) Truncate(ops, calls int) {
	b.Ops = b.Ops[:ops]
	b.dropCalls(calls)
}

// CallOf returns the call of an op of the batch, a Do.
func (b *Batch) CallOf(op *Op) *Call { return &b.Calls[op.call()] }
