package reservations

import (
	"encoding/binary"
	"strings"

	"limitsrv/commands/resp"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// The bytes of decisions in an answer are a byte, 1 for a repeated request, and for each op its Status,
// flags, Allowed, Remaining, Wait and Reset; and with otherParams the Params, which otherwise are those
// of the op.
const (
	isChanged   = 1 << 0
	noParams    = 1 << 1
	otherParams = 1 << 2
)

func appendDecisions(dst []byte, repeated bool, ops []engine.Op, ds []engine.Decision) []byte {
	first := byte(0)
	if repeated {
		first = 1
	}
	dst = append(dst, first)
	for i := range ds {
		d, flags := &ds[i], byte(0)
		if d.Changed {
			flags |= isChanged
		}
		switch d.Params {
		case ops[i].Params:
		case engine.Params{}:
			flags |= noParams
		default:
			flags |= otherParams
		}
		dst = append(dst, byte(d.Status), flags)
		dst = binary.AppendUvarint(dst, uint64(d.Allowed))
		dst = binary.AppendUvarint(dst, uint64(d.Remaining))
		dst = appendSpan(appendSpan(dst, d.Wait), d.Reset)
		if flags&otherParams != 0 {
			dst = d.Params.Append(dst)
		}
	}
	return dst
}

func appendSpan(dst []byte, s engine.Span) []byte {
	return binary.AppendUvarint(binary.AppendVarint(dst, s.Millis), uint64(s.Nanos))
}

func (r *reader) span() (s engine.Span) {
	s.Millis = r.varint()
	s.Nanos = r.uvarint()
	return s
}

func (r *reader) decision(op *engine.Op) (d engine.Decision) {
	d.Status = engine.Status(r.byte())
	flags := r.byte()
	d.Changed, d.Params = flags&isChanged != 0, op.Params
	d.Allowed, d.Remaining = r.uvarint(), r.uvarint()
	d.Wait, d.Reset = r.span(), r.span()
	switch {
	case flags&noParams != 0:
		d.Params = engine.Params{}
	case flags&otherParams != 0:
		d.Params = engine.Params{}
		n := d.Params.Decode(r.data)
		r.number(0, n)
	}
	return d
}

// OpsOf returns the ops of a call of Wrap or of Reserve; none of another call.
func OpsOf(c *engine.Call) []engine.Op {
	if !hasOps(c) {
		return nil
	}
	ops, _ := readOps(nil, c)
	return ops
}

// A Reply has the ops of a call of Wrap, and the decisions that its answer contains. It is reused: the
// zero value is ready.
type Reply struct {
	Ops       []engine.Op
	Decisions []engine.Decision
	// Repeated is set if the request had acted before: Allowed is as then, all else of now.
	Repeated bool
}

var errAnswer = resp.NewError("ERR", "an answer to a request with an id that can not be")

// Read reads a call with its answer. An error is an *resp.Error: the answer of the call. Requires: the
// answer is not empty.
func (x *Reply) Read(c *engine.Call) error {
	v, _, _ := answer.Next(c.Answer)
	if v.Kind == answer.Error {
		code, text, _ := strings.Cut(string(v.Bytes), " ")
		return resp.NewError(code, text)
	}
	x.Ops, _ = readOps(x.Ops[:0], c)
	r := reader{data: v.Bytes}
	x.Repeated = r.byte() != 0
	x.Decisions = x.Decisions[:0]
	for i := range x.Ops {
		op := &x.Ops[i]
		x.Decisions = append(x.Decisions, r.decision(op))
		if x.Repeated && op.Kind == engine.Take && op.N == 0 { // the limit was not 0 then
			op.N, op.ID = 1, nil
		}
	}
	if r.bad || len(r.data) > 0 {
		return errAnswer
	}
	return nil
}

// Release forgets the last call.
func (x *Reply) Release() {
	clear(x.Ops)
	x.Ops, x.Repeated = x.Ops[:0], false
}
