package numbers

import "math"

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
	for _, c := range digits {
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
