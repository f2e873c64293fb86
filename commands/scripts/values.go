package scripts

import (
	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

// The fields of tables that stand for replies.
var (
	errKey      = fixed("err")
	okKey       = fixed("ok")
	doubleKey   = fixed("double")
	mapKey      = fixed("map")
	setKey      = fixed("set")
	bigKey      = fixed("big_number")
	verbatimKey = fixed("verbatim_string")
	stringKey   = fixed("string")
	formatKey   = fixed("format")
	sourceKey   = fixed("source")
	lineKey     = fixed("line")
	ignoreKey   = fixed("ignore_error_stats_update")

	functionNameKey = fixed("function_name")
	callbackKey     = fixed("callback")
)

func fixed(name string) value.Value { return value.OfString(value.NewString(name)) }

// value makes a value of Lua of an answer's value v, and returns the rest after it.
func (m *machine) value(v *answer.Value, rest []byte) (result value.Value, after []byte) {
	st := m.st
	resp3 := m.protocol == answer.RESP3
	switch v.Kind {
	case answer.Integer:
		return value.Number(float64(v.Int)), rest
	case answer.Bulk:
		return st.NewString(v.Bytes), rest
	case answer.Status:
		return m.table(okKey, st.NewString(v.Bytes)), rest
	case answer.Error:
		return replyError(st, v.Bytes), rest
	case answer.Nil, answer.NilArray:
		if resp3 {
			return value.Nil, rest
		}
		return value.False, rest
	case answer.True, answer.False:
		return m.truth(v.Kind == answer.True), rest
	case answer.Double:
		if resp3 {
			return m.table(doubleKey, value.Number(v.Double)), rest
		}
		var b [32]byte
		return st.NewString(numbers.AppendDouble(b[:0], v.Double)), rest
	case answer.Verbatim:
		return m.verbatim(v.Bytes), rest
	case answer.BigNumber:
		if resp3 {
			return m.table(bigKey, st.NewString(v.Bytes)), rest
		}
		return st.NewString(v.Bytes), rest
	}
	if resp3 && (v.Kind == answer.Map || v.Kind == answer.Set) {
		return m.collection(v, rest)
	}
	return m.elements(v, rest)
}

// elements makes a table of the values of an Array, Pair or, in RESP2, of any other collection.
func (m *machine) elements(v *answer.Value, rest []byte) (value.Value, []byte) {
	n, flat := v.Len, v.Kind == answer.Pairs && m.protocol == answer.RESP2
	if flat {
		n *= 2
	}
	t := m.st.Heap.NewTable(n, 0)
	for i := range n {
		if flat && i%2 == 0 {
			_, rest, _ = answer.Next(rest) // the start of a Pair
		}
		var element value.Value
		element, rest = m.next(rest)
		if !element.IsNil() {
			t.SetInt(m.st.Heap, i+1, element)
		}
	}
	return value.OfTable(t), rest
}

// next takes the first value off an answer.
func (m *machine) next(data []byte) (result value.Value, rest []byte) {
	v, rest, _ := answer.Next(data)
	m.st.Charge(1)
	return m.value(&v, rest)
}

// table makes a table with a field.
func (m *machine) table(key, v value.Value) value.Value {
	t := m.st.Heap.NewTable(0, 1)
	t.Set(m.st.Heap, key, v)
	return value.OfTable(t)
}

func (m *machine) truth(b bool) value.Value {
	switch {
	case m.protocol == answer.RESP3:
		return value.Bool(b)
	case b:
		return value.Number(1)
	}
	return value.Number(0)
}

func (m *machine) verbatim(b []byte) value.Value {
	if m.protocol == answer.RESP2 {
		return m.st.NewString(b[4:])
	}
	t := m.st.Heap.NewTable(0, 2)
	t.Set(m.st.Heap, stringKey, m.st.NewString(b[4:]))
	t.Set(m.st.Heap, formatKey, m.st.NewString(b[:3]))
	return m.table(verbatimKey, value.OfTable(t))
}

// collection makes a value of a Map or Set.
func (m *machine) collection(v *answer.Value, rest []byte) (value.Value, []byte) {
	t := m.st.Heap.NewTable(0, v.Len)
	for i := 0; i < v.Len; i++ {
		var key value.Value
		element := value.True
		key, rest = m.next(rest)
		if v.Kind == answer.Map {
			element, rest = m.next(rest)
			i++
		}
		if !key.IsNil() && !element.IsNil() {
			t.Set(m.st.Heap, key, element)
		}
	}
	if v.Kind == answer.Map {
		return m.table(mapKey, value.OfTable(t)), rest
	}
	return m.table(setKey, value.OfTable(t)), rest
}

func (m *machine) setProtocol(version int) { m.protocol = answer.Protocol(version) }

// stepsPerError is the number of steps that count for the table of an error, besides its memory.
const stepsPerError = 8

// errorTable makes the table of an error.
func errorTable(st *lua.State, text string) value.Value {
	st.Charge(stepsPerError)
	t := st.Heap.NewTable(0, 1)
	t.Set(st.Heap, errKey, st.NewText(text))
	return value.OfTable(t)
}

// replyError makes the table of an error that a command answered.
func replyError(st *lua.State, text []byte) value.Value {
	st.Charge(stepsPerError)
	t := st.Heap.NewTable(0, 2)
	t.Set(st.Heap, errKey, st.NewString(text))
	t.Set(st.Heap, ignoreKey, value.True)
	return value.OfTable(t)
}

// raise raises an error as a table. It does not return.
func raise(st *lua.State, text string) { st.Raise(errorTable(st, text)) }
