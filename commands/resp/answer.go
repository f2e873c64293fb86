package resp

import (
	"strings"

	"limitsrv/answer"
)

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
	w.Buf = answer.AppendTo(w.Buf, neutral, p)
}
