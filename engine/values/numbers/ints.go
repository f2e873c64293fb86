package numbers

import (
	"encoding/binary"
	"math"
)

// MaxIntBytes is the length of the longest text of an int64.
const MaxIntBytes = 20

// ParseInt reads an int64 in its only accepted form: digits without leading zeros, after
// a minus if it is negative. No text has another form of an accepted number, so that two
// numbers are equal exactly if their texts are.
func ParseInt(b []byte) (n int64, ok bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > MaxIntBytes-1 {
		return 0, false
	}
	if digits[0] == '0' {
		return 0, len(b) == 1
	}
	var u uint64 // 19 digits do not overflow it
	rest := digits
	for len(rest) >= 8 {
		n, ok := eightDigits(binary.LittleEndian.Uint64(rest))
		if !ok {
			return 0, false
		}
		u, rest = u*1e8+n, rest[8:]
	}
	for _, c := range rest {
		if c -= '0'; c > 9 {
			return 0, false
		}
		u = u*10 + uint64(c)
	}
	if len(digits) < len(b) {
		return -int64(u), u <= -math.MinInt64
	}
	return int64(u), u <= math.MaxInt64
}

// eightDigits reads eight digits. The first digit is the lowest byte of text.
//
// Source: D. Lemire, "Quickly parsing eight digits", 2018: pairs of digits, then of the numbers so
// made, are joined by one multiplication each.
func eightDigits(text uint64) (n uint64, ok bool) {
	const (
		upper = 0xf0f0f0f0f0f0f0f0 // half of each byte: 3 in all digits, and beyond 9 no more after adding 6
		zeros = 0x3030303030303030
	)
	if text&upper != zeros || (text+0x0606060606060606)&upper != zeros {
		return 0, false
	}
	n = (text - zeros) * (10<<8 + 1) >> 8 & 0x00ff00ff00ff00ff
	n = n * (100<<16 + 1) >> 16 & 0x0000ffff0000ffff
	return n * (10000<<32 + 1) >> 32, true
}

// IntBytes returns the length of the text of n.
func IntBytes(n int64) int {
	u, length := uint64(n), 1
	if n < 0 {
		u, length = -u, 2
	}
	for ; u >= 10; u /= 10 {
		length++
	}
	return length
}
