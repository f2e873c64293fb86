package options

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Size is a number of bytes, written as in redis.conf: 1000, 1k (1000), 1kb
// (1024), and so on with m, mb, g and gb, in either case.
type Size int64

// units are the suffixes of a size. No suffix may end with a later suffix, because the
// first match is used.
var units = []struct {
	suffix string
	bytes  int64
}{
	{"kb", 1 << 10}, {"mb", 1 << 20}, {"gb", 1 << 30},
	{"k", 1e3}, {"m", 1e6}, {"g", 1e9},
	{"b", 1}, {"", 1},
}

// UnmarshalText reads a Size, 0 or more.
func (s *Size) UnmarshalText(text []byte) error {
	digits, unit := strings.ToLower(string(text)), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(digits, u.suffix); ok {
			digits, unit = rest, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || digits[0] == '+' || n > math.MaxInt64/unit {
		return fmt.Errorf("must be a size such as 1000, 64kb, 256mb or 2gb, got %q", text)
	}
	*s = Size(n * unit)
	return nil
}

// String formats s in the largest unit of 1024 that divides it.
func (s Size) String() string {
	for _, u := range []int{2, 1, 0} {
		if s > 0 && int64(s)%units[u].bytes == 0 {
			return strconv.FormatInt(int64(s)/units[u].bytes, 10) + units[u].suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
