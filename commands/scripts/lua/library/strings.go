package library

import (
	"bytes"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/pattern"
	"limitsrv/commands/scripts/lua/value"
)

func openString(env *lua.Env) {
	find := many("find", func(st *lua.State, args []value.Value) []value.Value { return search(st, args, true) })
	match := many("match", func(st *lua.State, args []value.Value) []value.Value { return search(st, args, false) })
	t := table(env, "string",
		many("byte", byteOf), one("char", char), one("dump", dump), find, one("format", format), one("gmatch", gmatch),
		many("gsub", gsub), one("len", length), one("lower", mapped('A', 'Z')), match, one("rep", repeat),
		one("reverse", reverse),
		one("sub", sub), one("upper", mapped('a', 'z')), one("gfind", gmatch),
	)
	meta := env.NewTable()
	env.SetField(meta, "__index", value.OfTable(t))
	env.SetStringMeta(meta)
}

// fromEnd converts a position that may count from the end of n bytes.
func fromEnd(position int64, n int) int64 {
	if position < 0 {
		position += int64(n) + 1
	}
	return max(0, position)
}

func byteOf(st *lua.State, args []value.Value) []value.Value {
	text := st.Text(args, 0)
	from := fromEnd(st.OptInt(args, 1, 1), len(text))
	to := min(fromEnd(st.OptInt(args, 2, from), len(text)), int64(len(text)))
	from = max(1, from)
	if from > to {
		return nil
	}
	n := int(to - from + 1)
	if n+len(args) > maxStack {
		st.Errorf("stack overflow (string slice too long)")
	}
	st.Charge(n / 8)
	results := st.Room(n)
	for i := range results {
		results[i] = value.Number(float64(text[int(from)-1+i]))
	}
	return results
}

func char(st *lua.State, args []value.Value) value.Value {
	st.Charge(len(args) / 4)
	buffer := st.Buffer()
	for i := range args {
		c := st.Int32(args, i)
		if c < 0 || c > 255 {
			st.ArgError(i, "invalid value")
		}
		buffer = append(buffer, byte(c))
	}
	return finish(st, buffer)
}

func dump(st *lua.State, args []value.Value) value.Value {
	if len(args) == 0 || args[0].Kind() != value.FunctionKind {
		st.TypeError(args, 0, "function")
	}
	st.Errorf("unable to dump given function")
	return value.Nil
}

func length(st *lua.State, args []value.Value) value.Value {
	return value.Number(float64(st.StringArg(args, 0).Len()))
}

// mapped makes a function that changes the case of letters in a range.
func mapped(first, last byte) func(*lua.State, []value.Value) value.Value {
	return func(st *lua.State, args []value.Value) value.Value {
		text := st.Text(args, 0)
		st.Charge(len(text) / 32)
		st.PrepayRoom(len(text))
		buffer := append(st.Buffer(), text...)
		for i, c := range buffer {
			if c >= first && c <= last {
				buffer[i] = c ^ 0x20
			}
		}
		return finish(st, buffer)
	}
}

func repeat(st *lua.State, args []value.Value) value.Value {
	text, n := st.Text(args, 0), max(0, st.Int32(args, 1))
	st.CheckLength(len(text) * n)
	room := st.Heap.Room(len(text) * n)
	if len(room) > 0 {
		for filled := copy(room, text); filled < len(room); {
			filled += copy(room[filled:], room[:filled])
		}
	}
	return value.OfString(st.Heap.Adopt(room))
}

func reverse(st *lua.State, args []value.Value) value.Value {
	text := st.Text(args, 0)
	st.CheckLength(len(text))
	st.Charge(len(text) / 32)
	room := st.Heap.Room(len(text))
	for i, c := range text {
		room[len(text)-1-i] = c
	}
	return value.OfString(st.Heap.Adopt(room))
}

func sub(st *lua.State, args []value.Value) value.Value {
	text := st.Text(args, 0)
	from := max(1, fromEnd(st.Int(args, 1), len(text)))
	to := min(fromEnd(st.OptInt(args, 2, -1), len(text)), int64(len(text)))
	if from > to {
		return st.NewString(nil)
	}
	st.Charge(int(to-from) / 64)
	return value.OfString(st.Heap.Adopt(text[from-1 : to : to]))
}

// shortNeedle is the longest wanted text, in bytes, with a search cost that depends only on the
// length of the searched text.
const shortNeedle = 32

// index returns the index of the first instance of wanted in text, or -1. For a long wanted text it
// charges the comparisons, because there may be a comparison for each byte of text.
func index(st *lua.State, text, wanted []byte) int {
	if len(wanted) <= shortNeedle {
		return bytes.Index(text, wanted)
	}
	for at := 0; ; at++ {
		next := bytes.Index(text[at:], wanted[:shortNeedle])
		if at += next; next < 0 || len(text)-at < len(wanted) {
			return -1
		}
		st.Prepay(1 + len(wanted)/64)
		if bytes.Equal(text[at:at+len(wanted)], wanted) {
			return at
		}
	}
}

// search is find and match.
func search(st *lua.State, args []value.Value, find bool) []value.Value {
	text, wanted := st.Text(args, 0), st.Text(args, 1)
	from := int(min(max(0, fromEnd(st.OptInt(args, 2, 1), len(text))-1), int64(len(text))))
	plain := find && len(args) > 3 && args[3].Truth()
	if find && !plain {
		st.Prepay(len(wanted) / 16)
		plain = pattern.IsPlain(wanted)
	}
	if plain {
		st.Charge((len(text) - from) / 16)
		i := index(st, text[from:], wanted)
		if i < 0 {
			return st.Results(value.Nil)
		}
		return st.Results(value.Number(float64(from+i+1)), value.Number(float64(from+i+len(wanted))))
	}
	m := newMatching(st, text, wanted)
	defer m.done()
	start, end := m.first(from)
	if end < 0 {
		return st.Results(value.Nil)
	}
	if !find {
		return m.captures(start, end)
	}
	if m.Groups() == 0 {
		return st.Results(value.Number(float64(start+1)), value.Number(float64(end)))
	}
	results := st.Room(2 + m.Groups())
	results[0], results[1] = value.Number(float64(start+1)), value.Number(float64(end))
	for i := range m.Groups() {
		results[2+i] = m.capture(i, start, end)
	}
	return results
}
