package resp

import (
	"slices"
	"strings"

	"limitsrv/engine/answer"
)

// longAnswer is a number of bytes. A longer answer gets room before it is written.
const longAnswer = 64 << 10

// Take writes bytes that the caller does not use any more. It does not copy them if Buf is empty.
func (w *Writer) Take(b []byte) {
	if len(w.Buf) == 0 {
		w.Buf = b
		return
	}
	w.Buf = append(w.Buf, b...)
}

// Answer writes an answer in neutral form. Requires: it is answer.Valid. No allocation,
// except for an error.
func (w *Writer) Answer(neutral []byte) {
	if answer.IsError(neutral) {
		v, _, _ := answer.Next(neutral)
		code, text, _ := strings.Cut(string(v.Bytes), " ")
		w.Error(NewError(code, text))
		return
	}
	p := answer.RESP2
	if w.Proto3 {
		p = answer.RESP3
	}
	if len(neutral) >= longAnswer {
		w.Buf = slices.Grow(w.Buf, len(neutral)+len(neutral)/8)
	}
	w.Buf = answer.AppendTo(w.Buf, neutral, p)
}
