package cjson

import (
	"math"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
)

// An encoder writes the text of a value.
type encoder struct {
	st     *lua.State
	config *config
	buffer []byte
	depth  int
	places int
}

func encode(st *lua.State, c *config, args []value.Value) value.Value {
	if len(args) != 1 {
		st.ArgError(0, "expected 1 argument")
	}
	e := encoder{st: st, config: c, buffer: st.Buffer()}
	e.value(args[0])
	v := st.NewString(e.buffer)
	st.Release(e.buffer)
	return v
}

// step counts the work for an entry, and checks that the text fits into memory.
func (e *encoder) step() {
	e.st.Charge(1)
	e.st.CheckRoom(len(e.buffer))
}

func (e *encoder) add(text string) { e.buffer = append(e.buffer, text...) }

func (e *encoder) value(v value.Value) {
	switch v.Kind() {
	case value.StringKind:
		s, _ := v.String()
		e.text(s.Bytes())
	case value.NumberKind:
		e.number(v)
	case value.BooleanKind:
		if v.Truth() {
			e.add("true")
		} else {
			e.add("false")
		}
	case value.TableKind:
		t, _ := v.Table()
		e.table(t, v)
	case value.NilKind, value.NullKind:
		e.add("null")
	default:
		e.fail(v, "type not supported")
	}
}

func (e *encoder) fail(v value.Value, reason string) {
	e.st.Errorf("Cannot serialise %s: %s", v.Kind(), reason)
}

func (e *encoder) table(t *value.Table, v value.Value) {
	if e.depth++; e.depth > e.config.encodeDepth || e.places > maxStack {
		e.st.Errorf("Cannot serialise, excessive nesting (%d)", e.depth)
	}
	if n := e.arrayLength(t, v); n > 0 {
		e.places++
		e.array(t, n)
		e.places--
	} else {
		e.places += 2
		e.object(t)
		e.places -= 2
	}
	e.depth--
}

// arrayLength returns the highest index if all keys are whole numbers from 1, and there
// are not too few of them; else -1.
func (e *encoder) arrayLength(t *value.Table, v value.Value) int {
	highest, items := int32(0), 0
	e.st.Charge(t.Size() / 8) // object passes through it once more
	for cursor := 0; ; {
		e.st.Charge(1)
		var key value.Value
		if key, _, cursor = t.Next(cursor); key.IsNil() {
			break
		}
		if !key.IsNumber() || key.Float() < 1 || math.Floor(key.Float()) != key.Float() {
			return -1
		}
		if key.Float() > float64(highest) {
			highest = number.ToInt32(key.Float())
		}
		items++
	}
	c := e.config
	if c.sparseRatio > 0 && int(highest) > items*c.sparseRatio && int(highest) > c.sparseSafe {
		if !c.sparseConvert {
			e.fail(v, "excessively sparse array")
		}
		return -1
	}
	return int(highest)
}

func (e *encoder) array(t *value.Table, n int) {
	e.add("[")
	for i := 1; i <= n; i++ {
		if i > 1 {
			e.add(",")
		}
		e.step()
		e.value(t.GetInt(i))
	}
	e.add("]")
}

func (e *encoder) object(t *value.Table) {
	e.add("{")
	for cursor, first := 0, true; ; first = false {
		var key, v value.Value
		if key, v, cursor = t.Next(cursor); key.IsNil() {
			break
		}
		if !first {
			e.add(",")
		}
		e.step()
		switch key.Kind() {
		case value.NumberKind:
			e.add(`"`)
			e.number(key)
			e.add(`":`)
		case value.StringKind:
			s, _ := key.String()
			e.text(s.Bytes())
			e.add(":")
		default:
			e.fail(key, "table key must be a number or string")
		}
		e.value(v)
	}
	e.add("}")
}

// stepsPerFraction is the number of steps to format a number that is not whole.
const stepsPerFraction = 8

func (e *encoder) number(v value.Value) {
	x := v.Float()
	if math.IsNaN(x) || math.IsInf(x, 0) {
		switch {
		case e.config.encodeInvalid == refuse:
			e.fail(v, "must not be NaN or Inf")
		case e.config.encodeInvalid == asNull:
			e.add("null")
			return
		case math.IsNaN(x):
			e.add("nan")
			return
		}
	}
	if x != math.Trunc(x) {
		e.st.Prepay(stepsPerFraction)
	}
	if e.config.precision == 14 || math.IsInf(x, 0) || x == 0 {
		e.buffer = number.Append(e.buffer, x)
		return
	}
	e.buffer = number.AppendGeneral(e.buffer, x, e.config.precision)
}

const hexDigits = "0123456789abcdef"

// escapes are the letters of characters with short escape sequences.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

// After each bytesPerCheck bytes of a text the encoder checks that the run has steps and memory
// left.
const bytesPerCheck = 1 << 10

func (e *encoder) text(s []byte) {
	e.st.Charge(len(s) / 16)
	e.buffer = append(e.buffer, '"')
	for i, c := range s {
		if i%bytesPerCheck == bytesPerCheck-1 {
			e.st.Prepay(bytesPerCheck / 8)
			e.st.PrepayRoom(len(e.buffer))
		}
		switch {
		case escapes[c] != 0:
			e.buffer = append(e.buffer, '\\', escapes[c])
		case c < ' ' || c == 127:
			e.buffer = append(e.buffer, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			e.buffer = append(e.buffer, c)
		}
	}
	e.buffer = append(e.buffer, '"')
}
