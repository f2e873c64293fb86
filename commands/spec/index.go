package spec

// An Index has commands, or what is derived from them, by name in capitals: of a subcommand
// CONTAINER|NAME.
type Index[T any] map[string]T

// MaxName is the length of the longest name that Find looks up.
const MaxName = 64

// Find looks a name up, in any case. A subcommand is given as sub, or within name. The result is the
// zero value for an unknown name. No allocation.
func (x Index[T]) Find(name, sub []byte) (found T) {
	if len(name)+1+len(sub) > MaxName {
		return found
	}
	var full [MaxName]byte
	n := copyUpper(full[:], name)
	if sub != nil {
		full[n] = '|'
		n++
		n += copyUpper(full[n:], sub)
	}
	return x[string(full[:n])]
}

func copyUpper(dst, src []byte) int {
	for i, c := range src {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		dst[i] = c
	}
	return len(src)
}
