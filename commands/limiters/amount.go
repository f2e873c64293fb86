package limiters

import (
	"bytes"

	"limitsrv/commands/weighing"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

// IsAmount reports whether an argument is a named amount: name=n.
func IsAmount(arg []byte) bool { return bytes.IndexByte(arg, '=') >= 0 }

// ParseAmount parses a named amount after an option or a command, from least to engine.MaxN. A number out of
// these bounds is an error, because its weighed sum would be too low. It does not check the name.
func ParseAmount(after string, arg []byte, least int64) (a weighing.Amount, err error) {
	name, text, _ := bytes.Cut(arg, []byte{'='})
	digits, negative := bytes.CutPrefix(text, []byte{'-'})
	n, ok := ParseWhole(digits)
	if negative {
		n = -n
	}
	if !ok || n < least || n > engine.MaxN {
		return a, BadWhole(after+" "+word.Unquoted(name), least, engine.MaxN, text)
	}
	return weighing.Amount{Name: name, N: n}, nil
}
