package rules

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
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

// IsPenaltyKey reports whether a key is the key of a penalty box. It returns false for a shortened
// key, which ends with a digest.
func IsPenaltyKey(key []byte) bool {
	return bytes.HasPrefix(key, []byte(KeyPrefix)) && bytes.HasSuffix(key, []byte(penaltySuffix))
}

// escaped tells the bytes that keys write as %XX.
var escaped = func() (table [256]bool) {
	for c := range table {
		table[c] = c < ' ' || c == 0x7f || c == '|' || c == '=' || c == '#' || c == '%'
	}
	return table
}()

// appendValue is appendEscaped for a value, which mostly has nothing to escape.
func appendValue(dst, value []byte) []byte {
	if isPlain(value) {
		return append(dst, value...)
	}
	return appendEscaped(dst, value)
}

// isPlain reports that appendEscaped leaves a value as it is; it may also be false for a value
// that stays as it is. It tests eight bytes at a time.
func isPlain(value []byte) bool {
	last := len(value) - 8
	if last < 0 {
		for _, c := range value {
			if escaped[c] {
				return false
			}
		}
		return true
	}
	for i := 0; i < last; i += 8 {
		if mayEscape(binary.LittleEndian.Uint64(value[i:])) {
			return false
		}
	}
	return !mayEscape(binary.LittleEndian.Uint64(value[last:]))
}

// mayEscape reports whether one of eight bytes is escaped. It is true for ! ' } and ~ too, which
// differ from escaped bytes by a bit.
//
// Source: S. E. Anderson, "Bit Twiddling Hacks", for a byte that is zero, or below n.
func mayEscape(x uint64) bool {
	const each = 0x0101010101010101
	var (
		percent = (x | 6*each) ^ '\''*each // a byte is 0 for # %
		bar     = (x | 3*each) ^ 0x7f*each // for | and 0x7f
		equals  = x ^ '='*each
	)
	return ((x-' '*each)&^x|(percent-each)&^percent|(bar-each)&^bar|(equals-each)&^equals)&(0x80*each) != 0
}

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
