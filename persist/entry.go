package persist

import (
	"encoding/binary"
	"math/bits"

	"limitsrv/engine"
)

// An Entry is the payload of a log entry, on a single node and in a cluster: batches of
// ops, each with its time. Applying them in order to an engine in the state before the
// first yields the state after the last.
//
// The Append methods build it and rely on the bounds of the ops; a Decoder reads it. It
// keeps its memory over Reset. Concurrency: not safe for concurrent use.
//
// # Format
//
// A byte with the version; from version 2 on optionally a statement of Effects; then batches, each
// a head and at least one op. A statement is the byte opEffects, Index, and the 8 bytes of Sum,
// little-endian. A head is a byte, opHead with or without headAtomic, headFull, headTight and
// headLevel; then the time since the previous batch in nanoseconds, as a signed varint (for the
// first batch since 0); and with headLevel a byte: Level. An op is as follows. Numbers are unsigned
// varints, except the single bytes of Mode, Group and DB:
//
//	a byte: Kind, a params code, opOne, opMore
//	if opMore:          a byte: Mode, moreGroup, moreID, moreDB
//	if moreGroup:       Group
//	if moreDB:          DB
//	if paramsNew:       Params, as engine.Params.Append encodes them
//	unless opOne:       N; for an Expect all 64 bits of the signed value
//	unless it is Flush, Learn or Needs: length of Key, Key
//	if moreID:          length of ID, ID
//
// and a Do:
//
//	a byte: Kind, opMore
//	if opMore:          a byte: moreDB
//	if moreDB:          DB
//	Command; Micros; number of Args; of each: its length, its bytes
//
// The parameters are absent, new, or equal to the last or the second last distinct value in
// this entry, so neither a pipeline of a limit nor a group of two repeats them. A Take of 1
// from a 22-byte key with known parameters has 24 bytes.
//
// Version 1 has no statements, Dos, Learns, databases, Flushes of a single database,
// headTight or headLevel.
//
// Version 2 has no calls from newerCalls on, modes AnyOf and Guard, penalty boxes, Needs, or
// Acquires of N = 0. Its groups have at most 64 members, all of them Takes without a mode; a Group
// of 1 is not a group.
//
// Version 3 ignores modes of Refunds and Charges, and has no groups that settle. Version 4 has no calls
// from onceCalls on. Version 5 has of these only the call of ONCE. Version 6 has of these only the calls before
// namedCalls.
//
// An entry is written in the lowest version that can hold it, so that older programs can read it.
type Entry struct {
	data   []byte
	stamp  engine.Instant // of the last batch
	recent recentParams
}

// Versions of the format. entryVersion, the newest, is for entries with reservations that are committed by named
// amounts. entryHolds is for entries with other reservations. entryIDs is for entries with ONCE. entryAdjusts is for
// entries with Refunds or Charges with modes, or groups that settle. entryGroups is for entries with
// functions, rules or groups with modes. entryPlain is for entries with plain values or databases.
// entryLimits is for all other entries.
const (
	entryLimits  = 1
	entryPlain   = 2
	entryGroups  = 3
	entryAdjusts = 4
	entryIDs     = 5
	entryHolds   = 6
	entryVersion = engine.NamedFeatures
)

const (
	kindBits   = 0x0f
	opHead     = kindBits     // head of a batch, in place of a Kind
	opEffects  = kindBits - 1 // statement of Effects
	headAtomic = 1 << 4
	headFull   = 1 << 5
	headLevel  = 1 << 6
	headTight  = 1 << 7

	paramsBits  = 3 << 4
	paramsNone  = 0 << 4
	paramsLast  = 1 << 4
	paramsOther = 2 << 4 // second last
	paramsNew   = 3 << 4

	opOne  = 1 << 6 // N is 1
	opMore = 1 << 7

	modeBits  = byte(engine.Partial | engine.Shadow)
	partBits  = byte(engine.AnyOf | engine.Guard) // of modes in groups only
	moreGroup = 1 << 2
	moreID    = 1 << 3
	moreDB    = 1 << 4
)

// Reset empties the entry.
func (e *Entry) Reset() {
	e.data = e.data[:0]
	e.stamp, e.recent = 0, recentParams{}
}

// Bytes returns the encoded entry. Requires: it is not empty. Valid until the entry
// changes.
func (e *Entry) Bytes() []byte { return e.data }

// Len returns the length of Bytes: 0 if there is nothing to log.
func (e *Entry) Len() int { return len(e.data) }

// Effects are a checksum of the effects of all calls of a log up to an entry, see
// engine.Batch.Effects. Zero: there were no calls.
type Effects struct {
	Index uint64 `json:"index"` // of the entry
	Sum   uint64 `json:"sum"`
}

// Add adds the effects of the next batch.
func (x *Effects) Add(index, effects uint64) {
	x.Index, x.Sum = index, bits.RotateLeft64(x.Sum, 1)+effects
}

// State adds a statement: the effects of an earlier entry. Requires: the entry is empty.
func (e *Entry) State(x Effects) {
	e.data = binary.AppendUvarint(append(e.data, entryPlain, opEffects), x.Index)
	e.data = binary.LittleEndian.AppendUint64(e.data, x.Sum)
}

// Append adds all ops of a batch that is, or was, applied at stamp.
func (e *Entry) Append(stamp engine.Instant, b *engine.Batch) {
	w := batchWriter{e: e, stamp: stamp, b: b}
	for i := range b.Ops {
		w.op(&b.Ops[i])
	}
}

// AppendChanged adds the ops of a batch, applied at stamp, that changed state according
// to their decisions; a group is added whole if one of its ops did. If nothing changed it
// adds nothing.
func (e *Entry) AppendChanged(stamp engine.Instant, b *engine.Batch) {
	w := batchWriter{e: e, stamp: stamp, b: b}
	for from := 0; from < len(b.Ops); {
		to := from + b.Ops[from].Members()
		if anyChanged(b.Decisions[from:to]) {
			for i := from; i < to; i++ {
				w.op(&b.Ops[i])
			}
		}
		from = to
	}
}

// VersionOf returns the version of the entry of a batch.
func VersionOf(b *engine.Batch) int {
	version, left := byte(entryLimits), 0
	for i := range b.Ops {
		version = max(version, versionOf(b, &b.Ops[i], &left))
	}
	return int(version)
}

// newerCalls is the first number of a call that programs of version 2 do not know: the
// calls of functions and of rules. They would reject an entry with such a call as damaged.
const newerCalls = 1<<13 + 18

// onceCalls is the first number of a call that programs of version 4 do not know: the calls with ids.
const onceCalls = 4 << 12

// idCall is the only call from onceCalls on that programs of version 5 know.
const idCall = onceCalls + 4

// namedCalls is the first number of a call that programs of version 6 do not know: the calls of reservations with
// named amounts.
const namedCalls = onceCalls + 8

// versionOf returns the lowest version that has an op of a batch. left is the number of ops that are
// left of the current group.
func versionOf(b *engine.Batch, op *engine.Op, left *int) byte {
	if op.IsGroup() {
		*left = op.Members()
	}
	member := *left > 0
	if member {
		*left--
	}
	switch {
	case adjusts(op), member && (op.Kind == engine.Release || op.Kind == engine.Peek):
		return entryAdjusts
	case byte(op.Mode)&partBits != 0, op.Kind == engine.Needs, op.Group > engine.MaxGroup, op.Params.Alg == engine.Box,
		op.Kind == engine.Acquire && op.N == 0, member && !isPlainTake(op):
		return entryGroups
	case op.Kind == engine.Do && b.CallOf(op).Command >= newerCalls:
		switch number := b.CallOf(op).Command; {
		case number == idCall:
			return entryIDs
		case number >= namedCalls:
			return entryVersion
		case number >= onceCalls:
			return entryHolds
		}
		return entryGroups
	case op.DB != 0 || op.Kind >= engine.Do || op.IsFlushOf():
		return entryPlain
	}
	return entryLimits
}

// adjusts reports whether an op is a Refund or a Charge with a mode. Before version 4 such modes
// are ignored.
func adjusts(op *engine.Op) bool {
	return (op.Kind == engine.Refund || op.Kind == engine.Charge) && op.Mode != 0
}

// isPlainTake reports whether groups of any version may have a member.
func isPlainTake(op *engine.Op) bool { return op.Kind == engine.Take && op.Mode == 0 }

// A batchWriter adds ops of a batch, and the head before the first.
type batchWriter struct {
	e      *Entry
	stamp  engine.Instant
	b      *engine.Batch
	headed bool
	left   int // ops of the current group
}

func (w *batchWriter) op(op *engine.Op) {
	if !w.headed {
		w.e.head(w.stamp, w.b)
		w.headed = true
	}
	w.e.data[0] = max(w.e.data[0], versionOf(w.b, op, &w.left))
	if op.Kind == engine.Do {
		w.e.call(op.DB, w.b.CallOf(op))
		return
	}
	w.e.op(op)
}

func anyChanged(ds []engine.Decision) bool {
	for i := range ds {
		if ds[i].Changed {
			return true
		}
	}
	return false
}

func (e *Entry) head(stamp engine.Instant, b *engine.Batch) {
	if len(e.data) == 0 {
		e.data = append(e.data, entryLimits)
	}
	first := byte(opHead)
	if b.Atomic {
		first |= headAtomic
	}
	if b.Full {
		first |= headFull
	}
	called := len(b.Calls) > 0
	if called {
		first |= headLevel
	}
	if called && b.Tight {
		first |= headTight
	}
	e.data = append(e.data, first)
	e.data = binary.AppendVarint(e.data, int64(stamp-e.stamp))
	e.stamp = stamp
	if called {
		e.data = append(e.data, b.Level)
		e.data[0] = max(e.data[0], entryPlain)
	}
}

// call adds a Do.
func (e *Entry) call(db uint8, c *engine.Call) {
	if db == 0 {
		e.data = append(e.data, byte(engine.Do))
	} else {
		e.data = append(e.data, byte(engine.Do)|opMore, moreDB, db)
	}
	e.data = binary.AppendUvarint(e.data, uint64(c.Command))
	e.data = binary.AppendUvarint(e.data, uint64(c.Micros))
	e.data = binary.AppendUvarint(e.data, uint64(len(c.Args)))
	for _, arg := range c.Args {
		e.data = binary.AppendUvarint(e.data, uint64(len(arg)))
		e.data = append(e.data, arg...)
	}
}

func (e *Entry) op(op *engine.Op) {
	params := e.recent.code(&op.Params)
	first, more := byte(op.Kind)|params, byte(op.Mode)
	if op.N == 1 {
		first |= opOne
	}
	if op.Group != 0 {
		more |= moreGroup
	}
	if len(op.ID) > 0 {
		more |= moreID
	}
	if op.DB != 0 {
		more |= moreDB
	}
	data := e.data
	if more == 0 {
		data = append(data, first)
	} else {
		data = append(data, first|opMore, more)
	}
	if more&moreGroup != 0 {
		data = append(data, op.Group)
	}
	if more&moreDB != 0 {
		data = append(data, op.DB)
	}
	if params == paramsNew {
		data = op.Params.Append(data)
	}
	if op.N != 1 {
		data = binary.AppendUvarint(data, uint64(op.N))
	}
	if hasKey(op.Kind) {
		data = binary.AppendUvarint(data, uint64(len(op.Key)))
		data = append(data, op.Key...)
	}
	if more&moreID != 0 {
		data = binary.AppendUvarint(data, uint64(len(op.ID)))
		data = append(data, op.ID...)
	}
	e.data = data
}

// hasKey reports whether ops of a kind have a key in an entry.
func hasKey(k engine.Kind) bool {
	return k != engine.Flush && k != engine.Learn && k != engine.Needs
}

// recentParams holds the last two distinct parameters of an entry. Unset parameters are
// zero, and no op refers to them.
type recentParams struct{ last, other engine.Params }

// code returns the code of p and makes p the last.
func (r *recentParams) code(p *engine.Params) byte {
	switch {
	case *p == engine.Params{}:
		return paramsNone
	case *p == r.last:
		return paramsLast
	case *p == r.other:
		r.last, r.other = r.other, r.last
		return paramsOther
	}
	r.last, r.other = *p, r.last
	return paramsNew
}
