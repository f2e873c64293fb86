package rules

import (
	"crypto/sha256"
	"encoding/hex"

	"limitsrv/engine"
)

// The keys of counters and boxes:
//
//	rule:DOMAIN|KEY=VALUE|KEY=VALUE#ALG     a node of the tree; further limits of the same
//	                                        algorithm at a node are #ALG:2, #ALG:3, ...
//	rule:DOMAIN|RULE|VALUE|VALUE#ALG:LIMIT  a limit of a rule
//	...#penalty                             a box
//
// In each part | = # % and control bytes are written as %XX, so that no two paths share a
// key. A key of more than engine.MaxKeyBytes is its first keptBytes, ~, and 32 digits of its
// SHA-256.
const (
	KeyPrefix     = "rule:"
	penaltySuffix = "#penalty"
	keptBytes     = 900
	digestDigits  = 32
)

// escaped tells the bytes that keys write as %XX.
var escaped = func() (table [256]bool) {
	for c := range table {
		table[c] = c < ' ' || c == 0x7f || c == '|' || c == '=' || c == '#' || c == '%'
	}
	return table
}()

// appendEscaped appends a part of a key.
func appendEscaped[T []byte | string](dst []byte, part T) []byte {
	const digits = "0123456789ABCDEF"
	from := 0
	for i := range len(part) {
		if c := part[i]; escaped[c] {
			dst = append(append(dst, part[from:i]...), '%', digits[c>>4], digits[c&15])
			from = i + 1
		}
	}
	return append(dst, part[from:]...)
}

// shorten cuts the key that begins at start of dst, if it is too long.
func shorten(dst []byte, start int) []byte {
	key := dst[start:]
	if len(key) <= engine.MaxKeyBytes {
		return dst
	}
	sum := sha256.Sum256(key)
	dst = append(dst[:start+keptBytes], '~')
	return hex.AppendEncode(dst, sum[:digestDigits/2])
}
