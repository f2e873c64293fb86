package reservations

import "limitsrv/engine/answer"

// Hide returns the answer of a call of Reserved or ReservedOf with nil in place of each name for which may is
// false: of the keys of the limits, or of the ids. Without such a name it returns the same bytes. An answer
// without names, which is nil or an error, stays. Requires: data is the answer of such a call.
func Hide(data []byte, may func(name []byte) bool) []byte {
	v, rest, _ := answer.Next(data)
	if v.Kind != answer.Map && v.Kind != answer.Array {
		return data
	}
	for range v.Len - 1 { // no value before the rows has values within
		_, rest, _ = answer.Next(rest)
	}
	rows, rest, _ := answer.Next(rest)
	out, kept, hidden := make([]byte, 0, len(data)), data, false
	for range rows.Len {
		row, at, _ := answer.Next(rest)
		name, after, _ := answer.Next(at)
		if name.Kind == answer.Bulk && !may(name.Bytes) {
			out = answer.AppendNil(append(out, kept[:len(kept)-len(at)]...))
			kept, hidden = after, true
		}
		for rest = after; row.Len > 1; row.Len-- {
			_, rest, _ = answer.Next(rest)
		}
	}
	if !hidden {
		return data
	}
	return append(out, kept...)
}
