package persist

import (
	"encoding/binary"

	"limitsrv/engine"
)

// An Entry is the payload of one log entry, on a single node and in a cluster: batches of
// ops, each with the time at which it was applied. Applying them in order to an engine in
// the state before the first yields the state after the last.
//
// The Append methods build it and rely on the bounds of the ops; a Decoder reads it. It
// keeps its memory over Reset. Concurrency: one goroutine at a time.
//
// # Format, version 1
//
// A byte with the version; then batches, each a head and at least one op. A head is a
// byte, opHead with or without headAtomic and headFull, and the time since the previous
// batch in nanoseconds, as a signed varint; the first counts from 0. An op is as follows.
// Numbers are unsigned varints, except the single bytes of Mode and Group:
//
//	a byte: Kind, a params code, opOne, opMore
//	if opMore:          a byte: Mode, moreGroup, moreID
//	if moreGroup:       Group
//	if paramsNew:       Params, as engine.Params.Append encodes them
//	unless opOne:       N; for an Expect all 64 bits of the signed value
//	unless it is Flush: length of Key, Key
//	if moreID:          length of ID, ID
//
// The parameters are none; new; or those of the last or the last but one distinct value
// in this entry, so neither a pipeline of one limit nor a group of two repeats them. A
// Take of one from a 22-byte key with known parameters has 24 bytes.
type Entry struct {
	data   []byte
	stamp  engine.Instant // of the last batch
	recent recentParams
}

// entryVersion is the version of the format that is written, and the newest that is read.
const entryVersion = 1

const (
	kindBits   = 0x0f
	opHead     = kindBits // head of a batch, in place of a Kind
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

// Bytes returns the encoded entry. Requires: it is not empty. Valid until the entry
// changes.
func (e *Entry) Bytes() []byte { return e.data }

// Len returns the length of Bytes: 0 if there is nothing to log.
func (e *Entry) Len() int { return len(e.data) }

// Append adds all ops of a batch that is, or was, applied at stamp.
func (e *Entry) Append(stamp engine.Instant, b *engine.Batch) {
	w := newBatchWriter(e, stamp, b)
	for i := range b.Ops {
		w.op(&b.Ops[i])
	}
}

// AppendChanged adds the ops of a batch, applied at stamp, that changed state according
// to their decisions; a group is added whole if one of its ops did. If nothing changed it
// adds nothing.
func (e *Entry) AppendChanged(stamp engine.Instant, b *engine.Batch) {
	w := newBatchWriter(e, stamp, b)
	for from := 0; from < len(b.Ops); {
		to := from + max(1, int(b.Ops[from].Group))
		if anyChanged(b.Decisions[from:to]) {
			for i := from; i < to; i++ {
				w.op(&b.Ops[i])
			}
		}
		from = to
	}
}

// A batchWriter adds ops of one batch, and the head before the first.
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
		data = op.Params.Append(data)
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

// recentParams holds the last two distinct parameters of an entry. An unset one is zero,
// and no op refers to it.
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
