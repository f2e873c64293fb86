package scripts

import (
	"bytes"
	"cmp"
	"fmt"
	"math"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// maxAnswer bounds an answer in bytes. Each table counts at least tableBytes, because an answer may
// repeat a table many times. From level 2 on each value counts valueBytes besides its content,
// because a nil is longer in RESP than here. maxDepth bounds the nesting.
const (
	maxAnswer  = engine.MaxAnswerBytes
	tableBytes = 64
	valueBytes = 8
	maxDepth   = answer.MaxDepth
)

// reply answers a value that a script returns. It takes steps, and returns the number that is
// then left; below 0 the answer is incomplete. Requires: the heap is unbound.
func (m *machine) reply(v value.Value, left int64) int64 {
	m.tables, m.left, m.fixed, m.perValue, m.over = 0, left, 0, valueBytes, false
	if m.tx.Level() == 1 {
		m.perValue = 0
	}
	out := m.appendValue(m.run.Answer, v, 0)
	if m.long(out) {
		out = answer.AppendError(out[:0], fmt.Sprintf("ERR script answers more than %d bytes", maxAnswer))
	}
	m.tx.ClaimAnswer(len(out) + m.fixed)
	m.run.Answer = out
	return m.left - int64(len(out)/bytesPerStep)
}

// appendValue appends a value inside of depth other values. Beyond maxAnswer, or the steps, it
// appends little.
func (m *machine) appendValue(out []byte, v value.Value, depth int) []byte {
	if m.left--; m.left < 0 || m.long(out) {
		return out
	}
	m.fixed += m.perValue
	if v.IsNumber() {
		return answer.AppendInt(out, number.ToInt(v.Float()))
	}
	switch v.Kind() {
	case value.StringKind:
		s, _ := v.String()
		if s.Len() > maxAnswer-len(out) {
			m.over = true
			return out
		}
		if m.st.Heap.Prepaid {
			m.left -= int64(s.Len() / bulkPerStep)
			out = withRoom(out, s.Len())
		}
		return answer.AppendBulk(out, s.Bytes())
	case value.BooleanKind:
		switch {
		case m.protocol == answer.RESP3:
			return answer.AppendBool(out, v.Truth())
		case v.Truth():
			return answer.AppendInt(out, 1)
		}
	case value.TableKind:
		t, _ := v.Table()
		m.prepay(t)
		if depth >= maxDepth {
			return answer.AppendError(out, "ERR reached lua stack limit")
		}
		return m.appendTable(out, t, depth)
	}
	return answer.AppendNil(out)
}

// withRoom returns out with room for a text of n bytes. It doubles the capacity of a long answer,
// because Go grows it in smaller parts and would copy it more often.
func withRoom(out []byte, n int) []byte {
	const start = 32 // room for the frame of the text
	if need := len(out) + n + start; need > cap(out) && need > maxKeptAnswer {
		out = append(make([]byte, 0, max(need, 2*cap(out))), out...)
	}
	return out
}

// long reports whether the answer is longer than maxAnswer.
func (m *machine) long(out []byte) bool {
	return m.over || max(len(out)+m.fixed, m.tables*tableBytes) > maxAnswer
}

// appendTable appends a table: a reply that one of its fields names, or a list.
func (m *machine) appendTable(out []byte, t *value.Table, depth int) []byte {
	m.tables++
	if t.IsList() {
		elements := t.Elements()
		out = answer.AppendArray(out, len(elements))
		for i := range elements {
			if v := &elements[i]; v.IsNumber() && m.left > 0 && !m.long(out) { // most elements
				m.left--
				m.fixed += m.perValue
				out = answer.AppendInt(out, number.ToInt(v.Float()))
			} else {
				out = m.appendValue(out, *v, depth+1)
			}
		}
		return out
	}
	if out, named := m.appendNamed(out, t, depth); named {
		return out
	}
	n := 0
	for !t.GetInt(n + 1).IsNil() {
		n++
	}
	out = answer.AppendArray(out, n)
	for i := range n {
		out = m.appendValue(out, t.GetInt(i+1), depth+1)
	}
	return out
}

// prepay charges steps for the places of a table that is about to be read, in a prepaid run.
func (m *machine) prepay(t *value.Table) {
	if m.st.Heap.Prepaid && !t.IsList() {
		m.left -= int64(stepsPerNamed + t.Size()/placesPerStep)
	}
}

// prepayText charges steps for a text that is about to be cut or trimmed, in a prepaid run.
func (m *machine) prepayText(s *value.String) {
	if m.st.Heap.Prepaid {
		m.left -= int64(s.Len() / textPerStep)
	}
}

// stepsPerNamed is the number of steps to look up the fields that name a reply. In one step fit:
// placesPerStep places of a table, textPerStep bytes of a text that is changed, and bulkPerStep
// bytes of a text that is not.
const (
	stepsPerNamed = 4
	placesPerStep = 8
	textPerStep   = 2
	bulkPerStep   = 64
)

// appendNamed appends the reply that a field of a table names, if there is such a field.
func (m *machine) appendNamed(out []byte, t *value.Table, depth int) (appended []byte, named bool) {
	if s, ok := t.Get(errKey).String(); ok {
		m.prepayText(s)
		return answer.AppendError(out, oneLine(s.Bytes())), true
	}
	if s, ok := t.Get(okKey).String(); ok {
		m.prepayText(s)
		return answer.AppendStatus(out, string(spaced(s.Bytes()))), true
	}
	if x := t.Get(doubleKey); x.IsNumber() {
		return answer.AppendDouble(out, x.Float()), true
	}
	if inner, ok := t.Get(mapKey).Table(); ok {
		return m.appendMap(out, inner, depth+1), true
	}
	if inner, ok := t.Get(setKey).Table(); ok {
		return m.appendSet(out, inner, depth+1), true
	}
	if s, ok := t.Get(bigKey).String(); ok {
		m.prepayText(s)
		return answer.AppendBigNumber(out, string(spaced(s.Bytes()))), true
	}
	if inner, ok := t.Get(verbatimKey).Table(); ok {
		text, ok := inner.Get(stringKey).String()
		format, ok2 := inner.Get(formatKey).String()
		if ok && ok2 {
			return answer.AppendVerbatim(out, fmt.Sprintf("%-3.3s", format.Bytes()), text.Bytes()), true
		}
	}
	return out, false
}

func (m *machine) appendMap(out []byte, t *value.Table, depth int) []byte {
	m.prepay(t)
	out = answer.AppendMap(out, entries(t))
	for key, v, at := t.Next(0); !key.IsNil(); key, v, at = t.Next(at) {
		out = m.appendValue(out, key, depth)
		out = m.appendValue(out, v, depth)
	}
	return out
}

func (m *machine) appendSet(out []byte, t *value.Table, depth int) []byte {
	m.prepay(t)
	out = answer.AppendSet(out, entries(t))
	for key, _, at := t.Next(0); !key.IsNil(); key, _, at = t.Next(at) {
		out = m.appendValue(out, key, depth)
	}
	return out
}

// entries counts the entries of a table.
func entries(t *value.Table) (n int) {
	for key, _, at := t.Next(0); !key.IsNil(); key, _, at = t.Next(at) {
		n++
	}
	return n
}

// failWith answers the error of a run.
func (m *machine) failWith(e *lua.Error) {
	text, source, line := m.errorOf(e)
	m.fail(text, source, line)
}

// errorOf returns the text of an error, and the line of the script; 0: no line.
func (m *machine) errorOf(e *lua.Error) (text, source string, line int) {
	m.st.Heap.Unbound()
	text = "ERR " + e.Error()
	source, line = e.Source, e.Line
	if e.Limit != lua.NoLimit {
		line = max(line, 1) // it is 0 before the first call
	}
	switch t, isTable := e.Value.Table(); {
	case isTable:
		text = "ERR unknown error"
		if v := t.Get(errKey); v.IsNumber() || v.Kind() == value.StringKind {
			s, _ := m.st.ToString(v)
			text = string(s.Bytes())
		}
		if line == 0 {
			source, line = positionOf(t)
		}
	case e.Limit == lua.NoLimit && e.Value.Kind() == value.NilKind:
		text = "ERR nil"
	case e.Limit == lua.NoLimit && e.Value.Kind() == value.BooleanKind:
		text = fmt.Sprint("ERR ", e.Value.Truth())
	}
	return text, source, line
}

// positionOf returns the position that a table of an error names.
func positionOf(t *value.Table) (source string, line int) {
	if s, ok := t.Get(sourceKey).String(); ok {
		source = string(s.Bytes())
	}
	if x := t.Get(lineKey); x.IsNumber() && x.Float() < math.MaxInt32 {
		line = int(number.ToInt(x.Float()))
	}
	return source, line
}

// fail answers an error at a line of the script; 0: at no line.
func (m *machine) fail(text, source string, line int) {
	text = oneLine([]byte(text))
	if line != 0 {
		text += suffix(cmp.Or(m.wanted, string(bytes.ToLower(m.run.Args[hashArg]))), source, line)
	}
	m.run.Answer = answer.AppendError(m.run.Answer[:0], text)
}
