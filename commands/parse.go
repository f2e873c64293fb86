package commands

import (
	"math"
	"math/bits"
	"strings"

	"limitsrv/engine"
)

// This file turns the bytes of an argument into a value of the engine, or into
// an error that names the argument, what it may be, and what was given. It
// allocates for errors only.
//
// A whole number is written as Redis writes one: 0, or digits of which the
// first is not 0; no plus, no space, no "-0". A decimal number may go on with a
// point and at least one digit. Exponents are refused. Of a decimal number 18
// digits count, and those behind the 18th decimal do not: a duration that has
// more is refused as not exact, a rate is cut down.

// parseKey checks the bounds of a key.
func parseKey(key []byte) error {
	if len(key) == 0 || len(key) > engine.MaxKeyBytes {
		return badSize("key", engine.MaxKeyBytes, key)
	}
	return nil
}

// parseID checks the bounds of the id of a holder.
func parseID(id []byte) error {
	if len(id) == 0 || len(id) > engine.MaxIDBytes {
		return badSize("id", engine.MaxIDBytes, id)
	}
	return nil
}

// parseLimit reads the argument name as a limit or capacity, 1 to most.
func parseLimit(name string, arg []byte, most int64) (int64, error) {
	limit, ok := wholeNumber(arg)
	if !ok || limit < 1 || limit > most {
		return 0, badWhole(name, 1, most, arg)
	}
	return limit, nil
}

// parseN reads a number of permits, 0 or more, and cuts it to engine.MaxN.
func parseN(arg []byte) (int64, error) {
	n, ok := wholeNumber(arg)
	if !ok {
		return 0, badWhole("n", 0, math.MaxInt64, arg)
	}
	return min(n, engine.MaxN), nil
}

// wholeNumber reads 0 to MaxInt64.
func wholeNumber(arg []byte) (int64, bool) {
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

// A decimal is digits / 10^decimals, and more if cut: then digits that were not
// all 0 followed, and did not count.
type decimal struct {
	digits   uint64 // below 10^18
	decimals int    // 0 to 18; the last of them is not 0
	cut      bool
}

// pow10 are the powers of ten up to 10^18.
var pow10 = [...]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
}

// scanDecimal reads the decimal number that arg starts with and returns what
// follows it. It fails where there is none, or if more than 18 digits stand
// before the point.
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
		return d, arg[i:], true
	}
	point := i
	for i++; i < len(arg) && isDigit(arg[i]); i++ {
		if arg[i] != '0' {
			d.addDecimal(arg[i], i-point)
		}
	}
	return d, arg[i:], i > point+1
}

// addDecimal adds the decimal at place, 1 for the first, which is not 0, and the
// zeros that were passed over before it.
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

// unit is the length of a unit of time in nanoseconds, 0 if it is none.
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

// parseDuration reads the argument name, a window or ttl, in nanoseconds.
func parseDuration(name string, arg []byte) (int64, error) {
	nanos, ok := duration(arg)
	if !ok {
		return 0, badNumber(name, "a duration of "+durations, arg)
	}
	return nanos, nil
}

// duration reads a length of time in nanoseconds: a number of seconds, or of
// the unit behind it. It must be whole nanoseconds and within the bounds of the
// engine.
func duration(arg []byte) (nanos int64, ok bool) {
	d, rest, ok := scanDecimal(arg)
	if !ok || d.cut {
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
		whole, beyond = bits.Div64(beyond, whole, pow10[d.decimals])
	}
	return int64(whole), beyond == 0 && whole >= engine.MinPeriod && whole <= engine.MaxPeriod
}

// parseWindow reads the window of FIXED: a duration, or a span of the calendar.
func parseWindow(arg []byte) (engine.Calendar, int64, error) {
	for _, span := range calendars {
		if isWord(arg, span.name) {
			return span.calendar, 0, nil
		}
	}
	nanos, ok := duration(arg)
	if !ok {
		return 0, 0, badNumber("window", "day, week, month, year, or a duration of "+durations, arg)
	}
	return engine.NoCalendar, nanos, nil
}

// CalendarName is the word for a span of the calendar; not ok: it is none.
func CalendarName(c engine.Calendar) (name string, ok bool) {
	for _, span := range calendars {
		if span.calendar == c {
			return strings.ToLower(span.name), true
		}
	}
	return "", false
}

var calendars = [...]struct {
	name     string
	calendar engine.Calendar
}{
	{"DAY", engine.Day},
	{"WEEK", engine.Week},
	{"MONTH", engine.Month},
	{"YEAR", engine.Year},
}

// parseRate reads a rate as count permits per period nanoseconds, in lowest
// terms.
//
// A rate written count/duration is held exactly; count is whole, even if it has
// decimals that are 0. A decimal number of permits per second is held exactly with up
// to rateDecimals. One with more, as the 33.333333333333336 that a client computed, is
// cut down as perSecond says, by less than one part in 10^9, and never gives more than
// was asked.
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
		return 0, 0, badNumber("rate", rates, arg)
	}
	return count, period, nil
}

// perDuration is count permits per duration; a unit alone is one of it.
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

// rateDecimals is how many decimals of a rate per second are held exactly.
const rateDecimals = 9

// perSecond is d permits per second. One with more than rateDecimals is cut down to
// the greater of two rates: that of rateDecimals, and that of wholePerPeriod.
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

// faster says whether count per period is more than otherCount per otherPeriod.
func faster(count, period, otherCount, otherPeriod int64) bool {
	high, low := bits.Mul64(uint64(count), uint64(otherPeriod))
	otherHigh, otherLow := bits.Mul64(uint64(otherCount), uint64(period))
	return high > otherHigh || high == otherHigh && low > otherLow
}

// wholePerPeriod is d permits per second, cut down to whole permits, the next number
// above d, in the time, at least one second, in which these are earned, rounded up to
// a nanosecond. For less than one a second it is one permit.
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

// lowestTerms divides two numbers above 0 by what they have in common.
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
