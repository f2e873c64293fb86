package lua

import (
	"limitsrv/lua/number"
	"limitsrv/lua/value"
)

// join concatenates strings and numbers. It returns false if there is anything else.
func (st *State) join(values []value.Value) (value.Value, bool) {
	buffer := st.Buffer()
	for _, v := range values {
		if s, ok := v.String(); ok {
			if int64(len(buffer)+s.Len()) > st.heap.Left() {
				st.exceed(MemoryLimit)
			}
			buffer = append(buffer, s.Bytes()...)
		} else if v.IsNumber() {
			buffer = number.Append(buffer, v.Float())
		} else {
			st.Release(buffer)
			return value.Nil, false
		}
	}
	v := st.NewString(buffer)
	st.Release(buffer)
	return v, true
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
