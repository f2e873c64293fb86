package forward

import (
	"encoding/binary"
	"errors"
	"fmt"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/persist"
	"limitsrv/replication/link"
)

// The answer to a forwarded batch is a frame: the number of the batch, as an unsigned
// varint, a byte that is one of the constants below, and
//
//	answerDecisions: the decisions, as many as the batch has ops
//	answerError:     length and bytes of the code of an error, and of its text
//
// with lengths as unsigned varints.
const (
	answerDecisions = iota
	answerNotAccepted
	answerUncertain
	answerError
)

// A decision is a byte, then
//
//	if decisionParams is paramsNew: Params, as engine.Params.Append encodes them
//	Allowed and Remaining, as signed varints
//	unless decisionNoWait: Wait
//	unless decisionNoReset: Reset
//
// except for a Do with status OK, where it is
//
//	decisionAnswer, with or without decisionChanged
//	length, as an unsigned varint, and bytes of the call's answer, which are answer.Valid
//
// and a span is Millis, as a signed varint, and Nanos, as an unsigned varint.
const (
	decisionStatus  = 7
	decisionAnswer  = decisionStatus // in place of a status
	decisionChanged = 1 << 3
	decisionParams  = 3 << 4
	decisionNoWait  = 1 << 6 // Wait is zero
	decisionNoReset = 1 << 7 // Reset is zero

	paramsNone  = 0 << 4
	paramsOfOp  = 1 << 4
	paramsAgain = 2 << 4 // of the last decision with paramsNew
	paramsNew   = 3 << 4
)

// maxNanos is the maximum of Span.Nanos.
const maxNanos = 999_999

// appendBatchAnswer appends the frame that answers batch number seq: with the error failed
// or, if that is nil, with the decisions.
func appendBatchAnswer(data []byte, seq uint64, b *engine.Batch, failed error) []byte {
	start := len(data)
	data = append(data, make([]byte, link.FrameHead)...)
	data = binary.AppendUvarint(data, seq)
	switch {
	case failed == nil:
		decided := len(data)
		if data = appendDecisions(append(data, answerDecisions), b); len(data)-start > maxAnswerBytes {
			text := fmt.Sprintf("the answers have %d bytes or more, %d can be forwarded at most; the request was applied",
				len(data)-start, maxAnswerBytes)
			data = appendText(appendText(append(data[:decided], answerError), "ERR"), text)
		}
	case errors.Is(failed, ErrNotAccepted):
		data = append(data, answerNotAccepted)
	case errors.Is(failed, persist.ErrUncertain):
		data = append(data, answerUncertain)
	default:
		code, text := link.ErrorParts(failed)
		data = appendText(append(data, answerError), code)
		data = appendText(data, text)
	}
	binary.BigEndian.PutUint32(data[start:], uint32(len(data)-start-link.FrameHead))
	return data
}

// maxText bounds the code and the text of an error.
const maxText = 64 << 10

func appendText(data []byte, text string) []byte {
	text = text[:min(len(text), maxText)]
	data = binary.AppendUvarint(data, uint64(len(text)))
	return append(data, text...)
}

func appendDecisions(data []byte, b *engine.Batch) []byte {
	var last engine.Params
	for i := range b.Decisions {
		d := &b.Decisions[i]
		if b.Ops[i].Kind == engine.Do && d.Status == engine.OK {
			data = appendAnswer(data, d, b.Calls[b.Ops[i].N].Answer)
			continue
		}
		first := byte(d.Status)
		if d.Changed {
			first |= decisionChanged
		}
		if d.Wait == (engine.Span{}) {
			first |= decisionNoWait
		}
		if d.Reset == (engine.Span{}) {
			first |= decisionNoReset
		}
		switch d.Params {
		case engine.Params{}:
		case b.Ops[i].Params:
			first |= paramsOfOp
		case last:
			first |= paramsAgain
		default:
			first |= paramsNew
			last = d.Params
		}
		data = append(data, first)
		if first&decisionParams == paramsNew {
			data = last.Append(data)
		}
		data = binary.AppendVarint(data, d.Allowed)
		data = binary.AppendVarint(data, d.Remaining)
		if first&decisionNoWait == 0 {
			data = appendSpan(data, d.Wait)
		}
		if first&decisionNoReset == 0 {
			data = appendSpan(data, d.Reset)
		}
	}
	return data
}

// appendAnswer appends the decision on a Do.
func appendAnswer(data []byte, d *engine.Decision, given []byte) []byte {
	if len(given) == 0 {
		given = answer.Unanswered
	}
	first := byte(decisionAnswer)
	if d.Changed {
		first |= decisionChanged
	}
	data = binary.AppendUvarint(append(data, first), uint64(len(given)))
	return append(data, given...)
}

func appendSpan(data []byte, s engine.Span) []byte {
	data = binary.AppendVarint(data, s.Millis)
	return binary.AppendUvarint(data, uint64(s.Nanos))
}

// answerNumber reads the number of the answered batch, and returns the remaining bytes.
func answerNumber(frame []byte) (seq uint64, rest []byte, err error) {
	r := answerReader{data: frame}
	seq = r.uvarint()
	return seq, r.data, r.err
}

// readBatchAnswer reads an answer without its number: it fills in the batch's decisions,
// or returns the leader's error as failed. err reports invalid bytes; data may be any
// bytes.
func readBatchAnswer(data []byte, b *engine.Batch) (failed, err error) {
	r := answerReader{data: data}
	b.Decisions = b.Decisions[:0]
	switch status := r.byte(); {
	case r.err != nil:
	case status == answerDecisions:
		r.decisions(b)
	case status == answerNotAccepted:
		failed = ErrNotAccepted
	case status == answerUncertain:
		failed = persist.ErrUncertain
	case status == answerError:
		code := r.text()
		failed = link.ErrorOf(code, r.text())
	default:
		r.fail("an answer of kind %d", status)
	}
	if r.err == nil && len(r.data) > 0 {
		r.fail("%d bytes behind an answer", len(r.data))
	}
	return failed, r.err
}

// An answerReader reads from data. It keeps the first error; after it all values are zero.
type answerReader struct {
	data []byte
	last engine.Params
	err  error
}

func (r *answerReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err, r.data = fmt.Errorf(format, args...), nil
	}
}

func (r *answerReader) decisions(b *engine.Batch) {
	for i := range b.Ops {
		first := r.byte()
		if first&^decisionChanged == decisionAnswer {
			r.answer(b, i, first)
			continue
		}
		d := engine.Decision{Status: engine.Status(first & decisionStatus), Changed: first&decisionChanged != 0}
		switch {
		case d.Status > engine.Aborted && d.Status != engine.Stale:
			r.fail("a decision of status %d", d.Status)
		case d.Status == engine.OK && b.Ops[i].Kind == engine.Do:
			r.fail("a call without an answer")
		}
		switch first & decisionParams {
		case paramsOfOp:
			d.Params = b.Ops[i].Params
		case paramsAgain:
			d.Params = r.last
		case paramsNew:
			r.params()
			d.Params = r.last
		}
		d.Allowed, d.Remaining = r.varint(), r.varint()
		if first&decisionNoWait == 0 {
			d.Wait = r.span()
		}
		if first&decisionNoReset == 0 {
			d.Reset = r.span()
		}
		if r.err != nil {
			return
		}
		b.Decisions = append(b.Decisions, d)
	}
}

// answer reads the decision on op i of a batch, a Do, after its first byte.
func (r *answerReader) answer(b *engine.Batch, i int, first byte) {
	op := &b.Ops[i]
	if op.Kind != engine.Do {
		r.fail("an answer to an op that is no call")
		return
	}
	c, bytes := b.CallOf(op), r.bytes(maxAnswerBytes)
	if r.err == nil && !answer.Valid(bytes) {
		r.fail("an answer to call %d, of %d bytes, that is no value", op.N, len(bytes))
		return
	}
	if string(bytes) == string(answer.Unanswered) {
		bytes, b.Held = nil, true
	}
	c.Answer = append(c.Answer[:0], bytes...)
	b.Decisions = append(b.Decisions, engine.Decision{Changed: first&decisionChanged != 0})
}

// params reads parameters into last.
func (r *answerReader) params() {
	var p engine.Params
	n := p.Decode(r.data)
	switch {
	case len(r.data) < 2:
		r.fail("an answer ends too early")
		return
	case n <= 0:
		r.fail("an answer with a number that does not end")
		return
	}
	r.data = r.data[n:]
	if err := p.Check(); err != nil {
		r.fail("parameters: %v", err)
	}
	r.last = p
}

func (r *answerReader) span() engine.Span {
	s := engine.Span{Millis: r.varint(), Nanos: int64(r.uvarint())}
	if r.err == nil && (s.Millis < engine.Never.Millis || s.Nanos < 0 || s.Nanos > maxNanos) {
		r.fail("a span of %d ms and %d ns", s.Millis, s.Nanos)
	}
	return s
}

func (r *answerReader) text() string { return string(r.bytes(maxText)) }

// bytes reads a length up to most, and so many bytes in place.
func (r *answerReader) bytes(most int) []byte {
	n := r.uvarint()
	if n > uint64(min(len(r.data), most)) {
		r.fail("a text of %d bytes, and %d follow", n, len(r.data))
		return nil
	}
	text := r.data[:n]
	r.data = r.data[n:]
	return text
}

func (r *answerReader) byte() byte {
	if len(r.data) == 0 {
		r.fail("an answer ends too early")
		return 0
	}
	first := r.data[0]
	r.data = r.data[1:]
	return first
}

func (r *answerReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	if n <= 0 {
		r.fail("an answer with a number that does not end")
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *answerReader) varint() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.fail("an answer with a number that does not end")
		return 0
	}
	r.data = r.data[n:]
	return v
}
