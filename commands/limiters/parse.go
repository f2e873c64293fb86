package limiters

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"strings"

	"limitsrv/commands/word"
	"limitsrv/engine"
)

// This file parses an argument into a value of the engine. An error names the argument, the allowed
// values and the given value. It allocates for errors only.
//
// A whole number has Redis' form: 0, or digits that do not start with 0; no plus, no space, no
// "-0". A decimal number may add a point and at least one digit, and an exponent of one or two
// digits, as in a client's 5.787e-05. A decimal number has at most 18 significant digits and at
// most 18 decimals. Rounding never grants more: a duration is rounded up to whole nanoseconds, a
// rate is rounded down.

// ParseKey checks the size of a key.
func ParseKey(key []byte) error {
	if len(key) == 0 || len(key) > engine.MaxKeyBytes {
		return badSize("key", engine.MaxKeyBytes, key)
	}
	return nil
}

// ParseID checks the size of a holder's id.
func ParseID(id []byte) error {
	if len(id) == 0 || len(id) > engine.MaxIDBytes {
		return badSize("id", engine.MaxIDBytes, id)
	}
	return nil
}

// parseLimit parses the argument name as a limit or capacity, 1 to most.
func parseLimit(name string, arg []byte, least, most int64) (int64, error) {
	limit, ok := ParseWhole(arg)
	if !ok || limit < least || limit > most {
		return 0, BadWhole(name, least, most, arg)
	}
	return limit, nil
}

// ParseN parses the argument name as a number of tokens, 0 or more, and clamps it to
// engine.MaxN.
func ParseN(name string, arg []byte) (int64, error) {
	n, ok := ParseWhole(arg)
	if !ok {
		return 0, BadWhole(name, 0, math.MaxInt64, arg)
	}
	return min(n, engine.MaxN), nil
}

// ParseSigned parses the argument name as a number of tokens other than 0, and clamps it to
// engine.MaxN and its negative.
func ParseSigned(name string, arg []byte) (n int64, err error) {
	digits, negative := bytes.CutPrefix(arg, []byte{'-'})
	n, ok := ParseWhole(digits)
	switch {
	case !ok || n == 0:
		return 0, badArgument(name, fmt.Sprintf("a whole number other than 0, at least -%d and at most %d",
			int64(math.MaxInt64), int64(math.MaxInt64)), arg)
	case negative:
		return -min(n, engine.MaxN), nil
	}
	return min(n, engine.MaxN), nil
}

// ParseWhole parses 0 to MaxInt64.
func ParseWhole(arg []byte) (int64, bool) {
	if len(arg) == 0 || len(arg) > 19 || (arg[0] == '0' && len(arg) > 1) {
		return 0, false
	}
	var n uint64
	for _, c := range arg {
		digit := c - '0'
		if digit > 9 {
			return 0, false
		}
		n = n*10 + uint64(digit)
	}
	return int64(n), n <= math.MaxInt64
}

// A decimal is digits / 10^decimals; if cut, further digits that are not all 0 were
// dropped.
type decimal struct {
	digits   uint64 // below 10^18
	decimals int    // 0 to 18; the last digit is not 0
	cut      bool
}

// pow10 are the powers of ten up to 10^18.
var pow10 = [...]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

// scanDecimal parses the decimal number at the start of arg and returns the rest. ok is
// false without a number, or if more than 18 digits precede the point.
func scanDecimal(arg []byte) (d decimal, rest []byte, ok bool) {
	i := 0
	for ; i < len(arg) && isDigit(arg[i]); i++ {
		if i == 18 {
			return d, nil, false
		}
		d.digits = d.digits*10 + uint64(arg[i]-'0')
	}
	if i == 0 || (arg[0] == '0' && i > 1) {
		return d, nil, false
	}
	if i == len(arg) || arg[i] != '.' {
		return d.scanExponent(arg[i:])
	}
	point := i
	for i++; i < len(arg) && isDigit(arg[i]); i++ {
		if arg[i] != '0' {
			d.addDecimal(arg[i], i-point)
		}
	}
	if i == point+1 {
		return d, nil, false
	}
	return d.scanExponent(arg[i:])
}

// scanExponent multiplies d by the power of ten at the start of arg, if there is a power. It
// returns the rest of arg. ok is false if the product has more than 18 digits before the point.
func (d decimal) scanExponent(arg []byte) (product decimal, rest []byte, ok bool) {
	if len(arg) == 0 || arg[0]|0x20 != 'e' {
		return d, arg, true
	}
	i, exponent := 1, 0
	if i < len(arg) && (arg[i] == '-' || arg[i] == '+') {
		i++
	}
	first := i
	for ; i < len(arg) && i < first+2 && isDigit(arg[i]); i++ {
		exponent = exponent*10 + int(arg[i]-'0')
	}
	if i == first {
		return d, nil, false
	}
	if arg[1] == '-' {
		d.divide(exponent)
		return d, arg[i:], true
	}
	return d, arg[i:], d.multiply(exponent)
}

// multiply multiplies d by 10^exponent. It returns false if the product has more than 18 digits
// before the point.
func (d *decimal) multiply(exponent int) bool {
	shift := min(exponent, d.decimals)
	d.decimals -= shift
	for exponent -= shift; exponent > 0 && d.digits > 0; exponent-- {
		if d.digits >= 1e17 {
			return false
		}
		d.digits *= 10
	}
	return true
}

// divide divides d by 10^exponent, and drops the decimals after the 18th.
func (d *decimal) divide(exponent int) {
	for d.decimals += exponent; d.decimals > 0 && (d.decimals > 18 || d.digits%10 == 0); d.decimals-- {
		d.cut = d.cut || d.digits%10 != 0
		d.digits /= 10
	}
}

// addDecimal appends a decimal that is not 0 at place, 1 for the first, and the zeros
// skipped before it.
func (d *decimal) addDecimal(digit byte, place int) {
	if d.cut || place > 18 {
		d.cut = true
		return
	}
	scale := pow10[place-d.decimals]
	if high, low := bits.Mul64(d.digits, scale); high == 0 && low < 1e18 {
		d.digits, d.decimals = low+uint64(digit-'0'), place
		return
	}
	d.cut = true
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// unit returns the length of a unit of time in nanoseconds, 0 if the name is unknown.
func unit(name []byte) uint64 {
	switch string(name) {
	case "us", "usec", "microsecond", "microseconds":
		return 1e3
	case "ms", "msec", "millisecond", "milliseconds":
		return 1e6
	case "s", "sec", "secs", "second", "seconds":
		return 1e9
	case "m", "min", "mins", "minute", "minutes":
		return 60e9
	case "h", "hr", "hrs", "hour", "hours":
		return 3600e9
	case "d", "day", "days":
		return 86400e9
	case "w", "week", "weeks":
		return 7 * 86400e9
	}
	return 0
}

// ParseDuration parses the argument name, a window or ttl, into nanoseconds.
func ParseDuration(name string, arg []byte) (int64, error) {
	nanos, ok := duration(arg)
	if !ok {
		return 0, badArgument(name, "a duration of "+durations, arg)
	}
	return nanos, nil
}

// duration parses a length of time into nanoseconds, rounded up. Of the digits after the 18th it only
// uses that they are not all 0. The text is a number of seconds, or a number followed by a unit. ok is false
// outside of the engine's bounds.
func duration(arg []byte) (nanos int64, ok bool) {
	d, rest, ok := scanDecimal(arg)
	if !ok {
		return 0, false
	}
	scale := uint64(1e9)
	if len(rest) > 0 {
		if scale = unit(rest); scale == 0 {
			return 0, false
		}
	}
	beyond, whole := bits.Mul64(d.digits, scale)
	if d.decimals > 0 {
		if beyond >= pow10[d.decimals] {
			return 0, false
		}
		var part uint64
		whole, part = bits.Div64(beyond, whole, pow10[d.decimals])
		d.cut, beyond = d.cut || part > 0, 0
	}
	if d.cut && whole < math.MaxInt64 {
		whole++
	}
	return int64(whole), beyond == 0 && whole >= engine.MinPeriod && whole <= engine.MaxPeriod
}

// ParseWindow parses the window of FIXED: a word for a period, or a duration.
func ParseWindow(arg []byte) (engine.Calendar, int64, error) {
	for _, span := range windows {
		if word.Is(arg, span.name) {
			return span.calendar, span.nanos, nil
		}
	}
	nanos, ok := duration(arg)
	if !ok {
		return 0, 0, badArgument("window", "second, minute, hour, day, week, month, year, or a duration of "+durations, arg)
	}
	return engine.NoCalendar, nanos, nil
}

// CalendarName returns the word for a calendar period; ok is false for any other value.
func CalendarName(c engine.Calendar) (name string, ok bool) {
	for _, span := range windows {
		if span.calendar == c && c != engine.NoCalendar {
			return strings.ToLower(span.name), true
		}
	}
	return "", false
}

// windows are the words for windows of FIXED. A window with a fixed length begins at a multiple of
// it since the Unix epoch. So windows of an hour or less are also windows of the UTC calendar.
var windows = [...]struct {
	name     string
	calendar engine.Calendar
	nanos    int64 // 0: a calendar unit
}{
	{"SECOND", engine.NoCalendar, 1e9},
	{"MINUTE", engine.NoCalendar, 60e9},
	{"HOUR", engine.NoCalendar, 3600e9},
	{"DAY", engine.Day, 0},
	{"WEEK", engine.Week, 0},
	{"MONTH", engine.Month, 0},
	{"YEAR", engine.Year, 0},
}

// parseRate parses a rate into count tokens per period nanoseconds, in lowest terms.
//
// A rate written as count/duration is held exactly; count is whole, although it may have
// decimals of 0. A decimal number of tokens per second is held exactly up to
// rateDecimals. With more decimals, as in a client's 33.333333333333336, it is rounded
// down as perSecond documents, by less than one part in 10^9; it never grants more than
// the rate.
func parseRate(arg []byte) (count, period int64, err error) {
	d, rest, ok := scanDecimal(arg)
	switch {
	case !ok || d.digits == 0:
		ok = false
	case len(rest) == 0:
		count, period, ok = perSecond(d)
	case rest[0] == '/' && d.decimals == 0 && !d.cut && d.digits <= engine.MaxLimit:
		count, period, ok = perDuration(int64(d.digits), rest[1:])
	default:
		ok = false
	}
	if !ok {
		return 0, 0, badArgument("rate", rates, arg)
	}
	return count, period, nil
}

// perDuration returns count tokens per duration; a unit without a number is 1 of it.
func perDuration(count int64, arg []byte) (int64, int64, bool) {
	period := int64(unit(arg))
	if period == 0 {
		var ok bool
		if period, ok = duration(arg); !ok {
			return 0, 0, false
		}
	}
	if count > period {
		return 0, 0, false
	}
	count, period = lowestTerms(count, period)
	return count, period, true
}

// rateDecimals is the number of decimals of a rate per second that are held exactly.
const rateDecimals = 9

// perSecond returns d tokens per second. A rate with more than rateDecimals is rounded down
// to the greater of two rates: the rate truncated to rateDecimals, and the rate from
// wholePerPeriod.
func perSecond(d decimal) (int64, int64, bool) {
	whole := d.digits / pow10[d.decimals]
	if whole > 1e9 || (whole == 1e9 && (d.cut || whole*pow10[d.decimals] != d.digits)) {
		return 0, 0, false
	}
	if d.decimals == 0 && !d.cut && d.digits > 0 {
		count, period := lowestTerms(int64(d.digits), 1e9)
		return count, period, true
	}
	kept := min(d.decimals, rateDecimals)
	digits := d.digits / pow10[d.decimals-kept]
	count, period := int64(0), int64(1)
	if digits > 0 {
		count, period = lowestTerms(int64(digits), int64(1e9*pow10[kept]))
	}
	if d.cut || kept < d.decimals {
		if c, p, ok := wholePerPeriod(d, whole+1); ok && faster(c, p, count, period) {
			count, period = c, p
		}
	}
	return count, period, count > 0 && period/count <= engine.MaxPeriod
}

// faster reports whether count per period exceeds otherCount per otherPeriod.
func faster(count, period, otherCount, otherPeriod int64) bool {
	high, low := bits.Mul64(uint64(count), uint64(otherPeriod))
	otherHigh, otherLow := bits.Mul64(uint64(otherCount), uint64(period))
	return high > otherHigh || high == otherHigh && low > otherLow
}

// wholePerPeriod returns d tokens per second, rounded down to a whole number of tokens per
// period. The tokens are `above`, the next whole number above d; the period is the time, at
// least a second, that d needs to earn them, rounded up to a nanosecond. A rate below 1 a
// second is a token per period.
func wholePerPeriod(d decimal, above uint64) (int64, int64, bool) {
	high, low := bits.Mul64(above*1e9, pow10[d.decimals])
	if high >= d.digits {
		return 0, 0, false
	}
	period, beyond := bits.Div64(high, low, d.digits)
	if beyond > 0 {
		period++
	}
	if period > engine.MaxPeriod {
		return 0, 0, false
	}
	count, nanos := lowestTerms(int64(above), int64(period))
	return count, nanos, true
}

// lowestTerms divides two numbers above 0 by their greatest common divisor.
func lowestTerms(a, b int64) (int64, int64) {
	if q := b / a; q*a == b {
		return 1, q
	}
	x, y := uint64(b), uint64(a)
	for y != 0 {
		x, y = y, x%y
	}
	return a / int64(x), b / int64(x)
}
