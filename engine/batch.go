package engine

import "math/bits"

// A Batch is a list of ops to apply in order at the same time, with their answers. It is
// reused: Reset keeps its memory, and in steady state a batch costs no allocation. A batch
// must be used with the same Engine only.
type Batch struct {
	Ops []Op
	// Calls are the command lines that the ops of kind Do carry out, each of one op.
	Calls []Call
	// Atomic requests that no concurrent caller sees a state between the ops.
	Atomic bool
	// Stale permits the executor to answer a read-only batch from a stale state. Apply
	// ignores it.
	Stale bool
	// Full requests that no key is created: a Take or Acquire that would create a key is
	// answered NoMemory, and so is its group. Unlike the memory bound it depends only on
	// the state, the time and the batch.
	Full bool
	// Tight requests that no call creates a key or a greater value: such a call is answered
	// by Commands. It does not affect other ops.
	Tight bool
	// Level is the level of meaning of the calls, so that a correction of a command changes
	// no replay: see Commands. 0 is the newest.
	Level uint8
	// Features asks the authors of ops for forms that log entries of a feature level have, because
	// some member of the cluster may support no newer forms; 0: all forms. See Lacks. Apply ignores
	// it.
	Features uint8
	// AnswerBytes bounds the total length of the answers of the calls, in bytes; 0: no bound.
	// Thousands of long answers would take all memory.
	//
	// A call that only reads is not executed, and its answer is empty, if its answer or an earlier
	// answer would exceed the bound. Exception: Options.Effects needs its answer. Any other call
	// is executed; its answer is empty if it exceeds the bound and is longer than shortAnswer. The
	// bound changes nothing else.
	AnswerBytes int
	// AnswerMost bounds the answer, in bytes, of each call that only reads and is not in a log. A
	// longer answer becomes an error. 0 and values above MaxAnswerBytes mean MaxAnswerBytes. It
	// has no effect without AnswerBytes.
	AnswerMost int
	// Held is set by Apply if an answer is empty because of AnswerBytes.
	Held bool
	// Notices, unless nil, receives the messages that the calls publish, and the changed keys. The
	// executor sets it for each Apply that is not a replay.
	Notices *Notices
	// Origin is the id of the client that sent the batch, for Change.Origin; 0: unknown. No
	// decision depends on it, and no log contains it.
	Origin int64
	// Runs is the number of script runs among the calls. Granted is the number of steps of their
	// budgets that only heavy runs use. Closed is set if no more ops should join the batch. Slow
	// is set if the batch is likely to take long. Work is the estimated work of the calls, in
	// visits to an element; 0: no call has work that grows with values. These fields are for the
	// author of the batch; Apply ignores them.
	Runs    int
	Work    int64
	Granted int64
	Closed  bool
	Slow    bool
	// Decisions are the answers, one for each op, valid after Apply until Reset.
	Decisions []Decision
	// Effects is a checksum of the effects of the calls. Apply adds to it, in any order, if
	// Options.Effects is set: then engines with equal seeds and states have equal sums, with any
	// number of shards.
	Effects uint64

	learns   []SourceID // of AddLearn; zero drops all
	readOnly bool       // the shards' time does not advance
	answered int        // bytes of the answers so far, if AnswerBytes is set
	enough   bool       // a call was not executed because of AnswerBytes
	changing int64      // work of the executed calls that are not ReadOnly, see MaxAtomicWork
	visited  int64      // work of the executed ReadOnly calls
	scratch  scratch
	tx       Tx
}

// Reset empties the batch.
func (b *Batch) Reset() {
	b.Ops = b.Ops[:0]
	b.Decisions = b.Decisions[:0]
	b.learns = b.learns[:0]
	b.resetCalls()
	b.tx.release()
	b.Atomic, b.Stale, b.Full, b.Tight, b.Level, b.Features, b.Notices, b.Origin = false, false, false, false, 0, 0, nil,
		0
	b.AnswerBytes, b.AnswerMost, b.Held = 0, 0, false
	b.Runs, b.Work, b.Granted, b.Closed, b.Slow = 0, 0, 0, false, false
}

// Looks reports whether the batch is read-only, so that Look accepts it: it has only
// Peeks, Expects, Watches, Takes, Acquires, Refunds and Charges of no permits, and Dos of calls that
// are ReadOnly.
func (b *Batch) Looks() bool {
	for i := range b.Ops {
		op := &b.Ops[i]
		if op.Kind == Do && b.CallOf(op).ReadOnly {
			continue
		}
		if !op.readOnly() {
			return false
		}
	}
	return true
}

// NamedFeatures is the lowest feature level with reservations that are committed by named amounts.
const NamedFeatures = 7

// FitFeatures is the lowest feature level with Refunds and Charges that have modes, and with groups that
// settle.
const FitFeatures = 4

// Lacks reports whether the ops of the batch must not have forms that are newer than those of the
// feature level before this.
func (b *Batch) Lacks(features uint8) bool { return b.Features != 0 && b.Features < features }

func allReadOnly(ops []Op) bool {
	for i := range ops {
		if !ops[i].readOnly() {
			return false
		}
	}
	return true
}

// scratch is the working memory of Apply.
type scratch struct {
	shards  []uint16 // of the key of each op, or severalShards
	hashes  []uint64 // of the key, without the bits of the shard's number
	apart   bool     // some op is not applied within the same shard
	order   []int32
	next    []int32    // for each shard, and for the second ops of pairs, the index in order of the next op
	keys    []int      // of a call
	places  []keyPlace // of the keys of all calls
	members []member   // of the group being decided, which begins at group
	group   int
	calls   []callKeys
	runs    [prefetchOps]shardRun // of lockRuns
	// entered are the shards of the ops that are being applied at a single moment.
	entered shardSet
}

// sortByShard returns the indexes of the ops from..to-1 sorted by shard, without the second
// ops of pairs; ops of one shard keep their order. It is a counting sort.
func (b *Batch) sortByShard(from, to int) []int32 {
	order := b.scratch.order[:to-from]
	if len(order) <= 1 {
		for i := range order {
			order[i] = int32(from)
		}
		return order
	}
	shards, next := b.scratch.shards[from:to], b.scratch.next
	clear(next)
	for _, s := range shards {
		next[s+1]++
	}
	for i := 1; i < len(next); i++ {
		next[i] += next[i-1]
	}
	ops := next[len(next)-2] // before those with the number beyond the last shard
	for i, s := range shards {
		order[next[s]] = int32(from + i)
		next[s]++
	}
	return order[:ops]
}

// A shardSet is a set of shard numbers. Its words from used on are zero, so that a set of few
// shards costs little.
type shardSet struct {
	words [maxShards / 64]uint64
	used  int
}

// reset makes the set empty.
func (t *shardSet) reset() {
	clear(t.words[:t.used])
	t.used = 0
}

func (t *shardSet) add(shard uint16) {
	t.words[shard/64] |= 1 << (shard % 64)
	t.used = max(t.used, int(shard/64)+1)
}

func (t *shardSet) has(shard uint16) bool { return t.words[shard/64]>>(shard%64)&1 != 0 }

func (t *shardSet) addAll(shards int) {
	for i := range shards {
		t.add(uint16(i))
	}
}

// each calls yield with the numbers in ascending order.
func (t *shardSet) each(yield func(int) bool) {
	for i, word := range t.words[:t.used] {
		for ; word != 0; word &= word - 1 {
			if !yield(i*64 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}

// noteChanges notes the keys that the ops of the batch have changed. Calls note their keys
// themselves.
func (b *Batch) noteChanges() {
	changed := &b.Notices.changed
	for i := range b.Ops {
		op := &b.Ops[i]
		switch {
		case !b.Decisions[i].Changed:
		case op.Kind == Flush:
			changed.add(Change{All: true})
		case op.Kind != Do && op.Kind != Learn && op.Kind != Needs:
			changed.add(Change{DB: op.DB, Key: op.Key, Origin: b.Origin})
		}
	}
}
