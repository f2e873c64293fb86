package persist

import (
	"encoding/binary"

	"limitsrv/engine"
)

// An Entry is what one entry of a log says, of one node or of a cluster: batches
// of ops, each with the time that it was applied at. Applied in their order to
// an engine in the state before the first, they lead to the state after the last.
//
// It is built up by the Appends, which rely on the bounds of the ops, and read by
// a Decoder. It keeps its memory over Reset. One goroutine at a time.
//
// # Format, version 1
//
// A byte with the version; then batches, each a head and at least one op. A head
// is a byte, opHead with headAtomic and headFull or without, and how much later than the batch
// before it is, in nanoseconds, as a signed varint; the first counts from 0. An
// op is, with all numbers as unsigned varints but for the single bytes that Mode,
// Group, Alg and Calendar are:
//
//	a byte: Kind, a params code, opOne, opMore
//	if opMore:          a byte: Mode, moreGroup, moreID
//	if moreGroup:       Group
//	if paramsNew:       Alg, Calendar, Limit, Count, Period
//	unless opOne:       N; of an Expect all 64 bits, signed as they are
//	unless it is Flush: length of Key, Key
//	if moreID:          length of ID, ID
//
// The parameters are none; or new; or those used last or last but one by ops of
// this entry, so that neither a pipeline of one limit nor a group of two spells
// them out again. A Take of one from a 22-byte key under known parameters is 24 bytes.
type Entry struct {
	data   []byte
	stamp  engine.Instant // of the last batch
	recent recentParams
}

// entryVersion is the version of the format that is written, and the newest read.
const entryVersion = 1

const (
	kindBits   = 0x0f
	opHead     = kindBits // in place of a Kind: the head of a batch
	headAtomic = 1 << 4
	headFull   = 1 << 5
	headBits   = headAtomic | headFull

	paramsBits  = 3 << 4
	paramsNone  = 0 << 4
	paramsLast  = 1 << 4
	paramsOther = 2 << 4 // last but one
	paramsNew   = 3 << 4

	opOne  = 1 << 6 // N is 1
	opMore = 1 << 7

	modeBits  = byte(engine.Partial | engine.Shadow)
	moreGroup = 1 << 2
	moreID    = 1 << 3
	moreBits  = modeBits | moreGroup | moreID
)

// Reset empties the entry.
func (e *Entry) Reset() {
	e.data = e.data[:0]
	e.stamp, e.recent = 0, recentParams{}
}

// Bytes is the entry as it goes into a log, if it is not empty. It is valid until
// the entry changes.
func (e *Entry) Bytes() []byte { return e.data }

// Len is the number of Bytes: 0 if there is nothing to log.
func (e *Entry) Len() int { return len(e.data) }

// Append adds all ops of a batch that is, or was, applied at stamp.
func (e *Entry) Append(stamp engine.Instant, b *engine.Batch) {
	w := newBatchWriter(e, stamp, b)
	for i := range b.Ops {
		w.op(&b.Ops[i])
	}
}

// AppendChanged adds those ops of a batch, applied at stamp, that changed
// something, by their decisions, and the groups of which one did as a whole; and in
// its place a Forget of each key that was evicted. If nothing changed it adds
// nothing.
func (e *Entry) AppendChanged(stamp engine.Instant, b *engine.Batch) {
	w := newBatchWriter(e, stamp, b)
	evicted := b.Evicted
	for from := 0; from < len(b.Ops); {
		to := from + max(1, int(b.Ops[from].Group))
		for len(evicted) > 0 && evicted[0].Before < to {
			w.op(&engine.Op{Kind: engine.Forget, Key: evicted[0].Key})
			evicted = evicted[1:]
		}
		if anyChanged(b.Decisions[from:to]) {
			for i := from; i < to; i++ {
				w.op(&b.Ops[i])
			}
		}
		from = to
	}
}

// A batchWriter adds ops of one batch, the head before the first.
type batchWriter struct {
	e      *Entry
	stamp  engine.Instant
	flags  byte // of the head
	headed bool
}

func newBatchWriter(e *Entry, stamp engine.Instant, b *engine.Batch) batchWriter {
	w := batchWriter{e: e, stamp: stamp}
	if b.Atomic {
		w.flags |= headAtomic
	}
	if b.Full {
		w.flags |= headFull
	}
	return w
}

func (w *batchWriter) op(op *engine.Op) {
	if !w.headed {
		w.e.head(w.stamp, w.flags)
		w.headed = true
	}
	w.e.op(op)
}

// Forget adds that key was dropped at stamp.
func (e *Entry) Forget(stamp engine.Instant, key []byte) {
	e.head(stamp, 0)
	e.op(&engine.Op{Kind: engine.Forget, Key: key})
}

func anyChanged(ds []engine.Decision) bool {
	for i := range ds {
		if ds[i].Changed {
			return true
		}
	}
	return false
}

func (e *Entry) head(stamp engine.Instant, flags byte) {
	if len(e.data) == 0 {
		e.data = append(e.data, entryVersion)
	}
	e.data = append(e.data, opHead|flags)
	e.data = binary.AppendVarint(e.data, int64(stamp-e.stamp))
	e.stamp = stamp
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
	data := e.data
	if more == 0 {
		data = append(data, first)
	} else {
		data = append(data, first|opMore, more)
	}
	if more&moreGroup != 0 {
		data = append(data, op.Group)
	}
	if params == paramsNew {
		p := &op.Params
		data = append(data, byte(p.Alg), byte(p.Calendar))
		data = binary.AppendUvarint(data, uint64(p.Limit))
		data = binary.AppendUvarint(data, uint64(p.Count))
		data = binary.AppendUvarint(data, uint64(p.Period))
	}
	if op.N != 1 {
		data = binary.AppendUvarint(data, uint64(op.N))
	}
	if op.Kind != engine.Flush {
		data = binary.AppendUvarint(data, uint64(len(op.Key)))
		data = append(data, op.Key...)
	}
	if more&moreID != 0 {
		data = binary.AppendUvarint(data, uint64(len(op.ID)))
		data = append(data, op.ID...)
	}
	e.data = data
}

// recentParams are the last two different parameters of an entry; what was not
// yet set is zero, which no op names by it.
type recentParams struct{ last, other engine.Params }

// code is how p is written, and makes it the last.
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
