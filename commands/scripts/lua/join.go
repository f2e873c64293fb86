package lua

import (
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
)

// join concatenates strings and numbers. It returns false if there is anything else.
func (st *State) join(values []value.Value) (value.Value, bool) {
	length := 0
	for _, v := range values {
		if s, ok := v.String(); ok {
			length += s.Len()
		} else if v.IsNumber() {
			length += longestNumber
		} else {
			return value.Nil, false
		}
	}
	if length > inBuffer {
		return st.joinLong(values), true
	}
	buffer := st.Buffer()
	for _, v := range values {
		buffer = appendJoined(buffer, v)
	}
	v := st.NewString(buffer)
	st.Release(buffer)
	return v, true
}

// Strings up to a length of inBuffer are joined in a buffer first. longestNumber is the
// length of the longest text of a number.
const (
	inBuffer      = 4 << 10
	longestNumber = 32
)

// joinLong concatenates strings and numbers in the memory of their string.
func (st *State) joinLong(values []value.Value) value.Value {
	var text [longestNumber]byte
	length := 0
	for _, v := range values {
		if s, ok := v.String(); ok {
			length += s.Len()
		} else {
			length += len(number.Append(text[:0], v.Float()))
		}
	}
	if int64(length) > st.heap.Left() {
		st.exceed(MemoryLimit)
	}
	st.CheckLength(length)
	room := st.heap.Room(length)
	all := room[:0]
	for _, v := range values {
		all = appendJoined(all, v)
	}
	return value.OfString(st.heap.Adopt(room))
}

// appendJoined appends a string or a number.
func appendJoined(dst []byte, v value.Value) []byte {
	if s, ok := v.String(); ok {
		return append(dst, s.Bytes()...)
	}
	return number.Append(dst, v.Float())
}

// concat concatenates values from the right, with metamethods.
func (st *State) concat(values []value.Value, sites []*site) value.Value {
	last := len(values) - 1
	result := values[last]
	for i := last - 1; i >= 0; i-- {
		pair := st.push(2)
		pair[0], pair[1] = values[i], result
		v, ok := st.join(pair)
		if !ok {
			v = st.concatMeta(values[i], result, sites[i], sites[i+1])
		}
		result = v
	}
	return result
}

func (st *State) concatMeta(a, b value.Value, left, right *site) value.Value {
	h := st.metamethod(a, eventConcat)
	if h.IsNil() {
		h = st.metamethod(b, eventConcat)
	}
	if !h.IsNil() {
		return st.callHandler(h, left, a, b)
	}
	if k := a.Kind(); k == value.StringKind || k == value.NumberKind {
		st.typeError("concatenate", b, right)
	}
	st.typeError("concatenate", a, left)
	return value.Nil
}
