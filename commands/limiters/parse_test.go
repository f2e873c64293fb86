package limiters

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"limitsrv/commands/resp"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

const (
	us   = 1_000
	ms   = 1_000 * us
	sec  = 1_000 * ms
	hour = 3600 * sec
	day  = 24 * hour
)

// wantError checks that err is an *resp.Error of the code with a text that contains all of
// parts.
func wantError(t *testing.T, what string, err error, code string, parts ...string) {
	t.Helper()
	var e *resp.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: got error %v, want an *resp.Error", what, err)
		return
	}
	for _, part := range parts {
		if e.Code != code || !strings.Contains(e.Text, part) {
			t.Errorf("%s:\n got %q\nwant %s and in the text %q", what, e, code, part)
		}
	}
}

func TestParseLimit(t *testing.T) {
	for _, tt := range []struct {
		arg  string
		most int64
		want int64 // 0: rejected
	}{
		{"1", engine.MaxLimit, 1},
		{"10", engine.MaxLimit, 10},
		{"1000000000000", engine.MaxLimit, 1_000_000_000_000},
		{"1000000000001", engine.MaxLimit, 0},
		{"1000000", engine.MaxListed, 1_000_000},
		{"1000001", engine.MaxListed, 0},
		{"0", engine.MaxLimit, 0},
		{"-1", engine.MaxLimit, 0},
		{"-0", engine.MaxLimit, 0},
		{"+1", engine.MaxLimit, 0},
		{"01", engine.MaxLimit, 0},
		{" 1", engine.MaxLimit, 0},
		{"1 ", engine.MaxLimit, 0},
		{"1\x00", engine.MaxLimit, 0},
		{"1.0", engine.MaxLimit, 0},
		{"1e3", engine.MaxLimit, 0},
		{"0x10", engine.MaxLimit, 0},
		{"1_000", engine.MaxLimit, 0},
		{"\u0661", engine.MaxLimit, 0},
		{"", engine.MaxLimit, 0},
		{"9223372036854775808", engine.MaxLimit, 0},
		{"18446744073709551617", engine.MaxLimit, 0},
		{strings.Repeat("1", 1<<20), engine.MaxLimit, 0},
	} {
		got, err := parseLimit("capacity", []byte(tt.arg), 1, tt.most)
		if got != tt.want {
			t.Errorf("parseLimit(%.40q, most %d) = %d, want %d", tt.arg, tt.most, got, tt.want)
		}
		if tt.want == 0 {
			wantError(t, "parseLimit("+word.Excerpt([]byte(tt.arg))+")", err, "ERR",
				"capacity must be a whole number from 1 to ", word.Excerpt([]byte(tt.arg)))
		} else if err != nil {
			t.Errorf("parseLimit(%q): %v", tt.arg, err)
		}
	}
}

func TestParseN(t *testing.T) {
	for _, tt := range []struct {
		arg  string
		want int64 // -1: rejected
	}{
		{"0", 0},
		{"1", 1},
		{"2000000000000", 2_000_000_000_000},
		{"2000000000001", engine.MaxN},
		{"2000000000002", engine.MaxN},
		{"9223372036854775807", engine.MaxN},
		{"9223372036854775808", -1},
		{"9999999999999999999", -1},
		{"18446744073709551616", -1},
		{"00", -1},
		{"-1", -1},
		{"", -1},
		{"x", -1},
	} {
		got, err := ParseN("n", []byte(tt.arg))
		if tt.want < 0 {
			wantError(t, "ParseN("+tt.arg+")", err, "ERR",
				"n must be a whole number from 0 to 9223372036854775807, got '"+tt.arg+"'")
		} else if err != nil || got != tt.want {
			t.Errorf("ParseN(%q) = %d, %v, want %d", tt.arg, got, err, tt.want)
		}
	}
}

func TestParseKeyAndID(t *testing.T) {
	for _, tt := range []struct {
		size int
		ok   bool
	}{{0, false}, {1, true}, {1024, true}, {1025, false}, {1 << 20, false}} {
		arg := bytes.Repeat([]byte{0xff}, tt.size)
		if err := ParseKey(arg); (err == nil) != tt.ok {
			t.Errorf("ParseKey(%d bytes) = %v, want ok %v", tt.size, err, tt.ok)
		}
		if err := ParseID(arg); (err == nil) != tt.ok {
			t.Errorf("ParseID(%d bytes) = %v, want ok %v", tt.size, err, tt.ok)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for _, tt := range []struct {
		arg  string
		want int64 // 0: rejected
	}{
		{"60", 60 * sec},
		{"0.25", 250 * ms},
		{"1us", us},
		{"500ms", 500 * ms},
		{"1s", sec},
		{"1m", 60 * sec},
		{"1h", hour},
		{"7d", 7 * day},
		{"2w", 14 * day},
		{"1.5h", 90 * 60 * sec},
		{"0.5d", day / 2},
		{"1.000us", us},
		{"1.001us", us + 1},
		{"1.0010us", us + 1},
		{"0.000001", us},
		{"0.000001001", us + 1},
		{"1.0000000001h", hour + 360},
		{"1.0000000000001h", 3600*sec + 1},
		{"0.0000000025h", 9 * us},
		{"0.0000152587890625w", 9_228_515_625},
		{"3650d", engine.MaxPeriod},
		{"315360000", engine.MaxPeriod},
		{"315360000.000000000", engine.MaxPeriod},
		{"315360000000000us", engine.MaxPeriod},
		{"521.428571428571428571w", engine.MaxPeriod},
		{"315360000.000000001", 0},
		{"315360000000001us", 0},
		{"3651d", 0},
		{"0.999us", 0},
		{"0.000000999", 0},
		{"0.0000010001", 1001},
		{"0", 0},
		{"0s", 0},
		{"1.", 0},
		{".5", 0},
		{".", 0},
		{"1.s", 0},
		{"1..5", 0},
		{"1.5.5", 0},
		{"01s", 0},
		{"00.5", 0},
		{"-1", 0},
		{"+1", 0},
		{"1 s", 0},
		{"1S", 0},
		{"1M", 0},
		{"1ns", 0},
		{"1y", 0},
		{"s", 0},
		{"", 0},
		{"1s\n", 0},
		{"1\x00", 0},
		{"inf", 0},
		{"nan", 0},
		{"day", 0},
		{"1e3", 1000 * sec},
		{"2.5e-2h", 90 * sec},
		{"1e-100", 0},
		{"1e100", 0},
		{"18446744073709551617", 0},
		{"999999999999999999w", 0},
		{"30500568904944w", 0},
		{"0.9999999999999999999", sec},
		{"1." + strings.Repeat("0", 100), sec},
		{"1." + strings.Repeat("0", 100) + "1", sec + 1},
		{strings.Repeat("9", 1<<20), 0},
		{"0." + strings.Repeat("0", 1<<20), 0},
	} {
		got, err := ParseDuration("ttl", []byte(tt.arg))
		if got != tt.want {
			t.Errorf("ParseDuration(%.40q) = %d, want %d", tt.arg, got, tt.want)
		}
		if tt.want == 0 {
			wantError(t, "ParseDuration", err, "ERR", "ttl must be ", word.Excerpt([]byte(tt.arg)))
		} else if err != nil {
			t.Errorf("ParseDuration(%.40q): %v", tt.arg, err)
		}
	}
}

func TestParseWindow(t *testing.T) {
	for _, tt := range []struct {
		arg      string
		calendar engine.Calendar
		period   int64
		ok       bool
	}{
		{"day", engine.Day, 0, true},
		{"WEEK", engine.Week, 0, true},
		{"Month", engine.Month, 0, true},
		{"yeaR", engine.Year, 0, true},
		{"second", engine.NoCalendar, sec, true},
		{"Minute", engine.NoCalendar, 60 * sec, true},
		{"HOUR", engine.NoCalendar, 3600 * sec, true},
		{"1d", engine.NoCalendar, day, true},
		{"0.5", engine.NoCalendar, sec / 2, true},
		{"days", 0, 0, false},
		{"d", 0, 0, false},
		{"wee\u212a", 0, 0, false}, // the kelvin sign folds to k
		{"$AY", 0, 0, false},
		{"", 0, 0, false},
		{"3651d", 0, 0, false},
	} {
		calendar, period, err := ParseWindow([]byte(tt.arg))
		if calendar != tt.calendar || period != tt.period || (err == nil) != tt.ok {
			t.Errorf("ParseWindow(%q) = %d, %d, %v, want %d, %d, ok %v", tt.arg, calendar, period, err, tt.calendar, tt.period,
				tt.ok)
		}
		if !tt.ok {
			wantError(t, "ParseWindow", err, "ERR",
				"window must be second, minute, hour, day, week, month, year, or a duration of ")
		}
	}
}

func TestParseRate(t *testing.T) {
	for _, tt := range []struct {
		arg           string
		count, period int64 // 0, 0: rejected
	}{
		{"1", 1, sec},
		{"10", 1, 100 * ms},
		{"7", 7, sec},
		{"0.5", 1, 2 * sec},
		{"1000000000", 1, 1},
		{"999999999", 999_999_999, sec},
		{"999999999.5", 1_999_999_999, 2 * sec},
		{"33.333", 33_333, 1000 * sec},
		{"0.00000001", 1, 100_000_000 * sec},
		{"1.00000001", 100_000_001, 100_000_000 * sec},
		{"100/60", 1, 600 * ms},
		{"100.0/60.0", 1, 600 * ms},
		{"100/1m", 1, 600 * ms},
		{"100/m", 1, 600 * ms},
		{"5000/d", 1, 17_280 * ms},
		{"7/w", 1, day},
		{"100/minute", 1, 600 * ms},
		{"5/min", 1, 12 * sec},
		{"10/sec", 1, 100 * ms},
		{"10/5seconds", 1, 500 * ms},
		{"60/hour", 1, 60 * sec},
		{"1/2hours", 1, 7200 * sec},
		{"10/day", 1, 8640 * sec},
		{"7/week", 1, day},
		{"7/3d", 7, 3 * day},
		{"1/0.25", 1, 250 * ms},
		{"1/1us", 1, us},
		{"1000/us", 1, 1},
		{"1000000000000/1000", 1, 1},
		{"999999999999/1000", 999_999_999_999, 1000 * sec},
		{"1000000000000/3650d", 1, 315_360},
		{"1/3650d", 1, engine.MaxPeriod},
		{"0.0000000032", 1, 312_500_000 * sec},
		{"0.333333333", 333_333_333, 1e18},
		{"1.000000001", 1_000_000_001, 1e18},
		{"278954392.620290", 27_895_439_262_029, 1e14},
		{"999999999.999999999", 999_999_999_999_999_999, 1e18},
		{"278954392.6202901234", 278_954_392_620_290_123, 1e18},

		// Rounded down.
		{"33.333333333333336", 1, 30 * ms},
		{"1.6666666666666667", 1, 600 * ms},
		{"0.016666666666666666", 1, 60*sec + 1},
		{"0.016666666666666667", 1, 60 * sec},
		{"0.3333333333333333", 1, 3*sec + 1},
		{"1.999999999999999999", 1_999_999_999, 1e18},
		{"0.9999999999999999999", 1, sec + 1},
		{"999999999.99999999999999", 999_999_999_999_999_999, 1e18},
		{"1.50000000000000000000001", 3, 2 * sec},
		{"0.000000003171", 1, 315_357_931_251_970_988},

		// Out of bounds.
		{"0", 0, 0},
		{"0.0", 0, 0},
		{"0/s", 0, 0},
		{"1000000001", 0, 0},
		{"1000000000.000000001", 0, 0},
		{"1000000000.00000000000000000001", 0, 0},
		{"1001/us", 0, 0},
		{"1000000000001/1001", 0, 0},
		{"1/3651d", 0, 0},
		{"1/0.5us", 0, 0},
		{"0.00000000317", 0, 0},
		{"0.0000000000000000001", 0, 0},
		{"0.000000000000000001", 0, 0},
		{"99999999999999999999", 0, 0},
		{strings.Repeat("9", 1<<20), 0, 0},

		// Not a rate.
		{"", 0, 0},
		{"/", 0, 0},
		{"/s", 0, 0},
		{"10/", 0, 0},
		{"10/0", 0, 0},
		{"10/-1", 0, 0},
		{"10//s", 0, 0},
		{"10/s/s", 0, 0},
		{"0.5/s", 0, 0},
		{"1.0000000000000000000000001/s", 0, 0},
		{"10s", 0, 0},
		{"10 /s", 0, 0},
		{"10/month", 0, 0},
		{"10/Min", 0, 0},
		{"10/5 min", 0, 0},
		{"-1", 0, 0},
		{"+1", 0, 0},
		{"01", 0, 0},
		{"1.", 0, 0},
		{".5", 0, 0},
		{"inf", 0, 0},
		{"abc", 0, 0},
		{"\xff\xfe\r\n", 0, 0},
		{"1e-05", 1, 1e14},
		{"5.787e-05", 5787, 1e17},
		{"1.5E+1", 3, 2e8},
		{"1e-100", 0, 0},
		{"1e", 0, 0},
		{"1e-", 0, 0},
		{"1e18", 0, 0},
	} {
		count, period, err := parseRate([]byte(tt.arg))
		if count != tt.count || period != tt.period {
			t.Errorf("parseRate(%.40q) = %d per %d ns, want %d per %d ns", tt.arg, count, period, tt.count, tt.period)
		}
		if tt.count == 0 {
			wantError(t, "parseRate", err, "ERR", "rate must be ", word.Excerpt([]byte(tt.arg)))
		} else if err != nil {
			t.Errorf("parseRate(%.40q): %v", tt.arg, err)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	errorOf := func(_ any, err error) string { return err.Error() }
	_, _, badRate := parseRate([]byte("fast"))
	_, _, badWindow := ParseWindow([]byte("fortnight"))
	for _, tt := range []struct{ got, want string }{
		{errorOf(parseLimit("capacity", []byte("abc"), 1, engine.MaxLimit)),
			"ERR capacity must be a whole number from 1 to 1000000000000, got 'abc'"},
		{errorOf(nil, ParseKey(nil)), "ERR key must be 1 to 1024 bytes long, got ''"},
		{errorOf(nil, ParseID(make([]byte, 1025))),
			`ERR id must be 1 to 1024 bytes long, got '` + strings.Repeat(`\x00`, 32) + `...' (1025 bytes)`},
		{badRate.Error(),
			"ERR rate must be tokens per second, such as 10 or 0.5, or a whole count/duration, such as 100/60, 100/minute or " +
				"5000/d, from 1 in 10 years to 1000000000 per second, got 'fast'"},
		{badWindow.Error(),
			"ERR window must be second, minute, hour, day, week, month, year, or a duration of 1us to 10 years, such as 60 " +
				"(seconds), 0.25, 500ms, 1m or 7d, got 'fortnight'"},
	} {
		if tt.got != tt.want {
			t.Errorf("\n got %s\nwant %s", tt.got, tt.want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	for _, tt := range []struct{ arg, want string }{
		{"", "''"},
		{"abc", "'abc'"},
		{"it's", "'it's'"},
		{"größe", "'größe'"},
		{"a\r\nb\x00", `'a\x0d\x0ab\x00'`},
		{"\xff\xc3", `'\xff\xc3'`},
		{"\u2028", `'\xe2\x80\xa8'`},
		{"\ufffd", "'\ufffd'"},
		{strings.Repeat("x", 32), "'" + strings.Repeat("x", 32) + "'"},
		{strings.Repeat("x", 33), "'" + strings.Repeat("x", 32) + "...' (33 bytes)"},
		{strings.Repeat("x", 31) + "ö", "'" + strings.Repeat("x", 31) + "...' (33 bytes)"},
		{strings.Repeat("\xff", 1<<20), "'" + strings.Repeat(`\xff`, 32) + "...' (1048576 bytes)"},
	} {
		if got := word.Excerpt([]byte(tt.arg)); got != tt.want {
			t.Errorf("excerpt(%.40q) = %s, want %s", tt.arg, got, tt.want)
		}
	}
}

func TestParsingDoesNotAllocate(t *testing.T) {
	b := &engine.Batch{Ops: make([]engine.Op, 0, 8)}
	for _, line := range []string{
		"RL.TOKEN key 100 10/s", "RL.TOKEN key 100 33.333333333333336 3 SHADOW PARTIAL", "RL.LEAKY key 100 0.5",
		"RL.FIXED key 10 month", "RL.SLIDE key 10 1.5h", "RL.LOG key 10 60", "RL.ACQUIRE key 10 30s id SHADOW",
		"RL.ALL TOKEN a 10 1/m 1 log b 10 1m 1 FIXED c 10 day 1", "RL.RELEASE key id", "RL.PEEK key", "RL.REFUND key 1",
		"RL.CHARGE key 1",
		"CL.THROTTLE key 15 30 60 1", "RL.THROTTLE key 15 30 60 -1", "THROTTLE key 10 100 60 1",
		"GCRA key 15 30 60.5 TOKENS 2",
	} {
		args := words(line)
		op := opOf(t, line)
		if allocs := testing.AllocsPerRun(100, func() {
			b.Reset()
			if err := op(b, args); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}); allocs != 0 {
			t.Errorf("%s: %v allocations, want none", line, allocs)
		}
	}
}

func TestWholeNumberHoldsMaxInt64(t *testing.T) {
	if n, ok := ParseWhole([]byte("9223372036854775807")); !ok || n != math.MaxInt64 {
		t.Errorf("ParseWhole(MaxInt64) = %d, %v", n, ok)
	}
}
