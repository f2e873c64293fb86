package engine

import (
	"fmt"
	"math/bits"
	"sync/atomic"

	"limitsrv/engine/siphash"
	"limitsrv/engine/slots"
	"limitsrv/engine/topk"
)

// Options configure an Engine.
type Options struct {
	// Shards is a power of two, 1 to 1024; 0 means 16. With more, callers on different
	// cores contend less often; with fewer, a batch has more ops for each shard, and
	// enters fewer. Eight for each core that calls Apply is a good number.
	Shards int
	// Seed is the secret from which all hash keys are derived. Without it nobody can choose keys,
	// members or holders that share a place.
	Seed [16]byte
	// MaxMemory and Evict are the Bound of SetBound.
	MaxMemory int64
	Evict     bool
	// Commands carries out the ops of kind Do; nil: no op may be a Do.
	Commands Commands
	// Effects makes Apply compute Batch.Effects.
	Effects bool
}

const (
	defaultShards = 16
	maxShards     = 1024
)

// An Engine holds keys and decides. Concurrency: all methods may be called concurrently.
type Engine struct {
	shards        []shard
	bits          uint8       // bits of a hash that select the shard
	key           siphash.Key // secrets.table
	secrets       secrets
	memory        memory
	bound         atomic.Pointer[Bound] // of SetBound
	sweepShard    atomic.Uint32         // next shard of Sweep
	victimCursor  atomic.Uint64         // hash for Victims to continue at
	statsDisabled atomic.Bool           // Stats reports no totals
	commandCounts commandCounts
	commands      Commands
	level         uint8 // the newest level of commands
	effects       bool  // Options.Effects
	sources       sources
	documents     documents
	moments       moments                   // of Timed calls
	draws         moments                   // of calls that Draws, see Call.Micros
	heavy         atomic.Int64              // steps, see AddHeavy
	owned         atomic.Pointer[slots.Set] // see SetOwned; nil: all slots

	snapshot atomic.Pointer[Snapshot] // the open snapshot, or nil
}

// New returns an empty engine. It panics on Options out of range.
func New(o Options) *Engine {
	if o.Shards == 0 {
		o.Shards = defaultShards
	}
	if o.Shards < 1 || o.Shards > maxShards || o.Shards&(o.Shards-1) != 0 {
		panic(fmt.Sprintf("engine: Shards must be a power of two from 1 to %d, got %d", maxShards, o.Shards))
	}
	e := &Engine{
		shards: make([]shard, o.Shards),
		bits:   uint8(bits.TrailingZeros(uint(o.Shards))),

		secrets:  newSecrets(o.Seed),
		commands: o.Commands, effects: o.Effects,
	}
	e.key = e.secrets.table
	if o.Commands != nil {
		e.level = o.Commands.Level()
	}
	e.SetBound(Bound{o.MaxMemory, o.Evict})
	for i := range e.shards {
		s := &e.shards[i]
		s.seed, s.hashKey, s.secrets, s.bits, s.memory = o.Seed, e.key, &e.secrets, e.bits, &e.memory
		for i := range s.tops {
			s.tops[i] = topk.New(max(trackedKeys/len(e.shards), minTrackedKeys), MaxKeyBytes)
		}
		s.clear()
		s.publishUsage()
	}
	return e
}

// Commands returns Options.Commands.
func (e *Engine) Commands() Commands { return e.commands }

// Now returns the latest time that any shard has seen. Cost: each shard is locked once.
func (e *Engine) Now() (now Instant) {
	for i := range e.shards {
		s := &e.shards[i]
		now = max(now, s.lockForRead(0))
		s.mu.Unlock()
	}
	return now
}

// SetTime advances all shards to now: no shard decides at an earlier time afterwards.
func (e *Engine) SetTime(now Instant) {
	for i := range e.shards {
		s := &e.shards[i]
		s.lock(now)
		s.unlock()
	}
}

// Clear makes the engine as New made it, except for its time, for a state that is to be
// loaded: without keys, sources and documents. Requires: nothing is applied meanwhile.
func (e *Engine) Clear() {
	e.Apply(0, &Batch{Ops: []Op{FlushAll(), {Kind: Learn}}})
	e.documents.clear()
}

// Apply applies a batch at now, or at the latest time that its shards have seen. Ops on
// one key are applied in their order. A batch that is not Atomic is not one moment for
// concurrent callers: each of its shards is locked once, or once for each run of ops
// between groups and flushes.
//
// Cost: O(1) for an op, except on LOG keys (see slidingLog) and LEASE keys (logarithmic
// in the holders). It allocates only if the table grows.
func (e *Engine) Apply(now Instant, b *Batch) {
	e.prepare(b)
	switch {
	case b.Atomic:
		e.applyAtomic(now, b, 0, len(b.Ops))
	case b.scratch.apart:
		e.applyParts(now, b)
	default:
		e.applyByShard(now, b, 0, len(b.Ops))
	}
	if b.Notices.Tracks() && !b.readOnly {
		b.noteChanges()
	}
}

// Look answers a read-only batch (see Batch.Looks) as Apply would, at now or at the
// latest time that its shards have seen, but does not advance the shards: an Apply at an
// earlier time may follow. It changes nothing, and panics if the batch is not read-only.
// No allocation in steady state.
func (e *Engine) Look(now Instant, b *Batch) {
	if !b.Looks() {
		panic("engine: Look with a batch that is not read-only")
	}
	e.SetMoments(now, b)
	b.readOnly = true
	e.Apply(now, b)
	b.readOnly = false
}

// applyParts applies a batch that concurrent callers may see in parts, and that has ops which are
// not applied within one shard.
func (e *Engine) applyParts(now Instant, b *Batch) {
	for from := 0; from < len(b.Ops); {
		op, to := &b.Ops[from], from+1
		switch {
		case op.Kind == Flush || op.Kind == Learn || b.scratch.shards[from] == severalShards:
			for op.Kind == Do && to-from < maxTogether && to < len(b.Ops) && b.Ops[to].Kind == Do &&
				b.scratch.shards[to] == severalShards {
				to++
			}
			e.applyAtomic(now, b, from, to)
		case op.IsGroup() && !b.isPair(from):
			to = from + op.Members()
			e.applyAtomic(now, b, from, to)
		default:
			for to < len(b.Ops) && b.isWithinShard(to) {
				to++
			}
			e.applyByShard(now, b, from, to)
		}
		from = to
	}
}

// isWithinShard reports whether op i, which is no member of a group after its first op, is
// applied within the same shard.
func (b *Batch) isWithinShard(i int) bool {
	op := &b.Ops[i]
	return op.Kind != Flush && op.Kind != Learn && (!op.IsGroup() || b.isPair(i)) && b.scratch.shards[i] != severalShards
}

// maxTogether is the number of consecutive calls on several shards that enter their shards
// once, so that callers of other calls do not wait for long.
const maxTogether = 16

// makeSpace makes space for the answers and for the shard and hash of each key.
func (e *Engine) makeSpace(b *Batch) {
	n := len(b.Ops)
	if cap(b.Decisions) < n || cap(b.scratch.shards) < n {
		b.Decisions = make([]Decision, n, cap(b.Ops))
		b.scratch = scratch{
			shards:  make([]uint16, n, cap(b.Ops)),
			hashes:  make([]uint64, n, cap(b.Ops)),
			order:   make([]int32, n, cap(b.Ops)),
			members: b.scratch.members,
			next:    make([]int32, len(e.shards)+2),
			keys:    b.scratch.keys,
			places:  b.scratch.places,
			calls:   b.scratch.calls,
		}
	}
	if cap(b.scratch.calls) < len(b.Calls) {
		b.scratch.calls = make([]callKeys, len(b.Calls), cap(b.Calls))
	}
	b.scratch.places, b.scratch.calls = b.scratch.places[:0], b.scratch.calls[:len(b.Calls)]
	b.Decisions = b.Decisions[:n]
	b.scratch.shards, b.scratch.hashes = b.scratch.shards[:n], b.scratch.hashes[:n]
}

// prepare makes space for the answers and computes the shard and hash of each key.
func (e *Engine) prepare(b *Batch) {
	e.makeSpace(b)
	b.scratch.apart, b.answered, b.enough, b.Held = false, 0, false, false
	b.changing, b.visited = 0, 0
	for i := 0; i < len(b.Ops); i++ {
		op := &b.Ops[i]
		switch {
		case op.Kind < Flush && op.Group == 0 && op.DB == 0:
			sum := e.key.Sum(op.Key) // as locate does in database 0
			b.scratch.shards[i], b.scratch.hashes[i] = uint16(sum>>(64-e.bits)), tailored(sum, e.bits, 0)
		case b.isPair(i):
			e.preparePair(b, i)
			i++
		default:
			e.prepareOther(b, i)
		}
	}
}

// prepareOther computes the shard and hash of op i, of any kind and in any database.
func (e *Engine) prepareOther(b *Batch, i int) {
	op := &b.Ops[i]
	switch op.Kind {
	case Do:
		e.locateCall(b, i)
	case Needs:
		b.scratch.shards[i], b.scratch.hashes[i] = 0, 0
	default:
		b.scratch.shards[i], b.scratch.hashes[i] = e.locate(op.DB, op.Key)
	}
	if op.Kind == Flush || op.Kind == Learn || op.IsGroup() || b.scratch.shards[i] == severalShards {
		b.scratch.apart = true
	}
}

// applyByShard applies ops without a group, and pairs, locking each shard once, and several
// at a time: see lockRuns.
func (e *Engine) applyByShard(now Instant, b *Batch, from, to int) {
	for order := b.sortByShard(from, to); len(order) > 0; {
		runs, n := e.lockRuns(now, b, order)
		if n <= prefetchOps && !e.isCached() {
			prefetch(runs, b.scratch.hashes, order[:n])
		}
		for _, r := range runs {
			r.apply(e, b, order[:r.ops])
			order = order[r.ops:]
		}
	}
}

// applyAtomic applies ops at a single moment: before the first it locks all their shards,
// in the order of their numbers.
func (e *Engine) applyAtomic(now Instant, b *Batch, from, to int) {
	set := &b.scratch.entered
	set.reset()
	for i := from; i < to; i++ {
		e.addShards(set, b, i)
	}
	for i := range set.each {
		now = e.shards[i].lockForBatch(b, now)
	}
	if from < to && b.Ops[from].Kind == Do && b.Ops[to-1].Kind == Do {
		if first, last := &b.scratch.calls[b.Ops[from].call()],
			&b.scratch.calls[b.Ops[to-1].call()]; !e.isCached() {
			e.prefetchPlaces(b.scratch.places[first.from:last.to])
		}
	}
	if e.expectationsHold(now, b, from, to) {
		e.applyLocked(now, b, from, to)
	}
	for i := range set.each {
		if !b.readOnly {
			e.shards[i].now = now
		}
		e.shards[i].unlock()
	}
}

// expectationsHold checks the Expects among the ops. If an Expect fails, all ops are
// answered Aborted.
func (e *Engine) expectationsHold(now Instant, b *Batch, from, to int) bool {
	for i := from; i < to; i++ {
		op := &b.Ops[i]
		if op.Kind != Expect || e.shards[b.scratch.shards[i]].fingerprint(now, b.scratch.hashes[i], op.Key) == op.Expected() {
			continue
		}
		for j := from; j < to; j++ {
			b.Decisions[j] = Decision{Status: Aborted}
		}
		return false
	}
	return true
}

// applyLocked applies ops after their shards have been locked.
func (e *Engine) applyLocked(now Instant, b *Batch, from, to int) {
	for i := from; i < to; i++ {
		op := &b.Ops[i]
		switch {
		case op.Kind == Flush:
			for j := range e.shards {
				if op.IsFlushOf() {
					e.shards[j].flush(op.DB)
				} else {
					e.shards[j].clear()
				}
			}
			b.Decisions[i] = Decision{Allowed: 1, Changed: true}
		case op.Kind == Do:
			e.do(now, b, i)
		case op.Kind == Learn:
			b.Decisions[i] = Decision{Changed: e.sources.apply(op, b.Level)}
		case op.IsGroup():
			e.takeGroup(now, b, i, i+op.Members())
			i += op.Members() - 1
		default:
			s := &e.shards[b.scratch.shards[i]]
			s.apply(now, op, b.scratch.hashes[i], &b.Decisions[i])
		}
	}
}

// locate returns the number of a key's shard, and its hash without the bits of that.
func (e *Engine) locate(db uint8, key []byte) (shard uint16, h uint64) {
	sum := sumIn(e.key, db, key)
	return e.shardOf(sum), tailored(sum, e.bits, db)
}

// shardOf returns the number of the shard of a hash of sumIn.
func (e *Engine) shardOf(sum uint64) uint16 { return uint16(sum >> (64 - e.bits)) }
