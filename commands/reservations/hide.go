package reservations

import "limitsrv/engine/answer"

// Hide returns data with nil in place of each name for which may returns false. data is the answer of a call of
// Reserved, with the keys of limits as names, or of ReservedOf, with ids as names. Hide returns data itself if it
// has no such name, for example because it is nil or an error.
func Hide(data []byte, may func(name []byte) bool) []byte {
	v, rest, _ := answer.Next(data)
	if v.Kind != answer.Map && v.Kind != answer.Array {
		return data
	}
	for range v.Len - 1 { // the values before the rows are neither arrays nor maps
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
