package limiters

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"limitsrv/commands/word"
	"limitsrv/engine"
)

// The reference model of the parsers: regular expressions and rational numbers.
var (
	wholePattern    = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
	decimalPattern  = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,2}))?$`)
	durationPattern = regexp.MustCompile(`^([0-9.]+(?:[eE][+-]?[0-9]{1,2})?)([a-z]+)?$`)
	modelUnits      = map[string]int64{
		"us": 1e3, "ms": 1e6, "s": 1e9, "": 1e9, "m": 60e9, "h": 3600e9, "d": 24 * 3600e9, "w": 7 * 24 * 3600e9,
		"usec": 1e3, "microsecond": 1e3, "microseconds": 1e3, "msec": 1e6, "millisecond": 1e6, "milliseconds": 1e6,
		"sec": 1e9, "secs": 1e9, "second": 1e9, "seconds": 1e9, "min": 60e9, "mins": 60e9, "minute": 60e9, "minutes": 60e9,
		"hr": 3600e9, "hrs": 3600e9, "hour": 3600e9, "hours": 3600e9, "day": 24 * 3600e9, "days": 24 * 3600e9,
		"week": 7 * 24 * 3600e9, "weeks": 7 * 24 * 3600e9,
	}
)

// modelNumber parses a decimal number: its value, the value of its first 18 digits, and
// their number of decimals.
func modelNumber(arg string) (exact, cut *big.Rat, decimals int, ok bool) {
	m := decimalPattern.FindStringSubmatch(arg)
	if m == nil {
		return nil, nil, 0, false
	}
	fraction := strings.TrimRight(m[2], "0")
	keep := 18 - len(m[1])
	if m[1] == "0" {
		keep = 18
	}
	kept := strings.TrimRight(fraction[:min(keep, len(fraction))], "0")
	exact, _ = new(big.Rat).SetString(m[1] + "." + fraction + "0e" + cmp.Or(m[3], "0"))
	cut, _ = new(big.Rat).SetString(m[1] + "." + kept + "0e" + cmp.Or(m[3], "0"))
	text := strings.TrimRight(cut.FloatString(150), "0")
	whole, fraction, _ := strings.Cut(text, ".")
	kept = strings.TrimRight(fraction[:min(18, len(fraction))], "0")
	cut, _ = new(big.Rat).SetString(whole + "." + kept + "0")
	return exact, cut, len(kept), len(whole) <= 18
}

// modelDuration rounds a duration up to nanoseconds. The digits after the 18th count as a little more
// than their predecessors.
func modelDuration(arg string) (int64, bool) {
	m := durationPattern.FindStringSubmatch(arg)
	if m == nil {
		return 0, false
	}
	exact, cut, _, ok := modelNumber(m[1])
	unit, known := modelUnits[m[2]]
	if !ok || !known {
		return 0, false
	}
	isCut := exact.Cmp(cut) != 0
	product := cut.Mul(cut, new(big.Rat).SetInt64(unit))
	up := new(big.Int).Quo(product.Num(), product.Denom())
	if isCut || !product.IsInt() {
		up.Add(up, big.NewInt(1))
	}
	if !up.IsInt64() {
		return 0, false
	}
	nanos := up.Int64()
	return nanos, nanos >= engine.MinPeriod && nanos <= engine.MaxPeriod
}

// modelRate returns the rate held for arg, and the exact rate, in tokens per ns.
func modelRate(arg string) (held, asked *big.Rat, ok bool) {
	if number, per, found := strings.Cut(arg, "/"); found {
		exact, _, _, ok := modelNumber(number)
		ok = ok && exact.IsInt() && exact.Num().IsInt64()
		period, isUnit := modelUnits[per]
		if !isUnit || per == "" {
			var valid bool
			period, valid = modelDuration(per)
			ok = ok && valid
		}
		if !ok || exact.Sign() == 0 || exact.Num().Int64() > min(engine.MaxLimit, period) {
			return nil, nil, false
		}
		count := exact.Num().Int64()
		rate := big.NewRat(count, period)
		return rate, rate, true
	}
	exact, cut, decimals, ok := modelNumber(arg)
	second := big.NewRat(1e9, 1)
	if !ok || cut.Sign() == 0 || exact.Cmp(second) > 0 {
		return nil, nil, false
	}
	asked = new(big.Rat).Quo(exact, second)
	nine := new(big.Rat).Mul(exact, second) // and whole
	nine.SetInt(new(big.Int).Quo(nine.Num(), nine.Denom()))
	held = nine.Quo(nine, new(big.Rat).Mul(second, second))
	if decimals > 9 || exact.Cmp(cut) != 0 {
		if other := modelWholePerPeriod(cut, second); other.Cmp(held) > 0 {
			held = other
		}
	}
	slowest := big.NewRat(1, engine.MaxPeriod+1)
	return held, asked, held.Cmp(slowest) > 0
}

// modelWholePerPeriod returns the rate of the next whole number above rate, a second's
// tokens, in whole nanoseconds.
func modelWholePerPeriod(cut, second *big.Rat) *big.Rat {
	count := new(big.Int).Quo(cut.Num(), cut.Denom())
	count.Add(count, big.NewInt(1))
	period := new(big.Rat).SetInt(count)
	period.Mul(period, second).Quo(period, cut)
	nanos := new(big.Int).Add(period.Num(), period.Denom())
	nanos.Sub(nanos, big.NewInt(1)).Quo(nanos, period.Denom())
	return new(big.Rat).SetFrac(count, nanos)
}

func modelWhole(arg string) (int64, bool) {
	if !wholePattern.MatchString(arg) {
		return 0, false
	}
	n, err := strconv.ParseInt(arg, 10, 64)
	return n, err == nil
}

// checkRate compares parseRate with the model, and checks its promises: lowest terms,
// never more than the given rate, and less by at most one part in 10^9.
func checkRate(t interface{ Errorf(string, ...any) }, arg string) {
	count, period, err := parseRate([]byte(arg))
	held, asked, ok := modelRate(arg)
	if (err == nil) != ok {
		t.Errorf("parseRate(%q) = %v, but valid is %v", arg, err, ok)
		return
	}
	if !ok {
		return
	}
	got := big.NewRat(count, period)
	if got.Cmp(held) != 0 || !got.Num().IsInt64() || got.Num().Int64() != count {
		t.Errorf("parseRate(%q) = %d per %d ns, want %v in lowest terms", arg, count, period, held)
	}
	short := new(big.Rat).Sub(asked, got)
	if short.Sign() < 0 || short.Quo(short, asked).Cmp(big.NewRat(1, 1e9)) > 0 {
		t.Errorf("parseRate(%q) = %d per %d ns, off from %v by %v of it", arg, count, period, asked, short)
	}
}

// FuzzParse compares the parsers with the model on any bytes.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "0", "1", "-0", "007", "9223372036854775807", "9223372036854775808", "0.25", "1.5h", "500ms", "100/60", "100/1m",
		"5000/d", "33.333333333333336", "1e-05", "5.787e-05", "1.5E+3s", "9e99", "1e-99", "3e5/1e2", "0.33333333333333331",
		"hour", "0.000000000000000001", "999999999.999999999999999999", "10/0.0000015",
		"1000000000", "1000000000.0", "3650d", "521.1234567890123456w", "521.12345670123390223456w", "month", "WEEK",
		"\xff\x00\r\n", "1000000000000/us",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, arg []byte) {
		text := string(arg)
		checkRate(t, text)
		want, ok := modelWhole(text)
		if n, valid := ParseWhole(arg); valid != ok || ok && n != want {
			t.Errorf("ParseWhole(%q) = %d, %v, want %d, %v", arg, n, valid, want, ok)
		}
		want, ok = modelDuration(text)
		if nanos, err := ParseDuration("ttl", arg); (err == nil) != ok || ok && nanos != want {
			t.Errorf("ParseDuration(%q) = %d, %v, want %d, %v", arg, nanos, err, want, ok)
		}
		calendar, nanos, err := ParseWindow(arg)
		if length, isWord := map[string]int64{"second": 1e9, "minute": 60e9, "hour": 3600e9}[strings.ToLower(text)]; isWord {
			want, ok = length, true
		}
		isSpan := regexp.MustCompile(`^([dD][aA][yY]|[wW][eE][eE][kK]|[mM][oO][nN][tT][hH]|[yY][eE][aA][rR])$`).Match(arg)
		if (err == nil) != (ok || isSpan) || (calendar != engine.NoCalendar) != isSpan || ok && nanos != want {
			t.Errorf("ParseWindow(%q) = %d, %d, %v", arg, calendar, nanos, err)
		}
		if e := word.Excerpt(arg); len(e) > 32*4+
			len("'...' (9223372036854775807 bytes)'") || strings.ContainsAny(e, "\r\n\x00") {
			t.Errorf("excerpt(%q) = %q", arg, e)
		}
	})
}

func TestRatesOfAnyDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Uint64Range(0, rapid.SampledFrom([]uint64{0, 9, 1000, 1e9, math.MaxUint64}).Draw(t, "most")).Draw(t,
			"whole")
		fraction := rapid.StringMatching(`(\.0{0,9}[0-9]{1,20})?`).Draw(t, "fraction")
		checkRate(t, fmt.Sprint(whole)+fraction)
	})
}

// Clients compute rates in floating point and write all digits.
func TestRatesOfFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := math.Exp(rapid.Float64Range(math.Log(4e-9), math.Log(1e9)).Draw(t, "log"))
		arg := strconv.FormatFloat(rate, 'f', -1, 64)
		checkRate(t, arg)
		if _, _, err := parseRate([]byte(arg)); err != nil {
			t.Errorf("parseRate(%s): %v", arg, err)
		}
	})
}

func TestRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(1, engine.MaxPeriod/us).Draw(t, "us")
		count := rapid.Int64Range(1, min(engine.MaxLimit, micros*us)).Draw(t, "count")
		arg := fmt.Sprintf("%d/%dus", count, micros)
		got, period, err := parseRate([]byte(arg))
		if want := big.NewRat(count, micros*us); err != nil || big.NewRat(got, period).Cmp(want) != 0 ||
			want.Num().Int64() != got {
			t.Errorf("parseRate(%s) = %d per %d, %v", arg, got, period, err)
		}
		nanos := rapid.Int64Range(engine.MinPeriod, engine.MaxPeriod).Draw(t, "ns")
		arg = fmt.Sprintf("%d.%09d", nanos/1e9, nanos%1e9)
		if got, err := ParseDuration("window", []byte(arg)); err != nil || got != nanos {
			t.Errorf("ParseDuration(%s) = %d, %v, want %d", arg, got, err, nanos)
		}
	})
}
