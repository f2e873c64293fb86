package number

import (
	"math"
	"testing"
)

func TestAppend(t *testing.T) {
	for _, tt := range []struct {
		x    float64
		want string
	}{
		{0, "0"}, {math.Copysign(0, -1), "-0"}, {5, "5"}, {-5, "-5"},
		{1 << 53, "9.007199254741e+15"}, {1e15, "1e+15"}, {1e14, "1e+14"}, {99999999999999, "99999999999999"},
		{123456789012345, "1.2345678901234e+14"}, {0.1, "0.1"}, {0.1 + 0.2, "0.3"}, {1.0 / 3, "0.33333333333333"},
		{1e100, "1e+100"}, {5e-324, "4.9406564584125e-324"}, {1e-5, "1e-05"}, {0.0001, "0.0001"},
		{math.Inf(1), "inf"}, {math.Inf(-1), "-inf"}, {math.NaN(), "nan"}, {math.Copysign(math.NaN(), -1), "-nan"},
		{1795162328.123456, "1795162328.1235"}, {99999999999999.9, "1e+14"},
	} {
		if got := string(Append(nil, tt.x)); got != tt.want {
			t.Errorf("Append(%v) = %q, want %q", tt.x, got, tt.want)
		}
	}
}

func TestParse(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		text string
		want float64
		ok   bool
	}{
		{"16", 16, true}, {"0x10", 16, true}, {"0x1p4", 16, true}, {"inf", math.Inf(1), true}, {"nan", nan, true},
		{"1e", 0, false}, {"0x", 0, false}, {"", 0, false}, {" ", 0, false}, {"1 2", 0, false}, {"5e+3 ", 5000, true},
		{"\t5\n", 5, true}, {"-0x10", -16, true}, {"- 1", 0, false}, {"1_0", 0, false}, {"-Infinity", math.Inf(-1), true},
		{"nan(12)", nan, true}, {"nan(", 0, false}, {"1e400", math.Inf(1), true}, {"0x.8", 0.5, true}, {".5", 0.5, true},
		{"5.", 5, true},
		{".", 0, false}, {"0x1_0", 0, false}, {"0x1p", 0, false}, {"1e5x", 0, false}, {"0b1", 0, false},
		{"123456789012345678", 123456789012345678, true},
		{"+5", 5, true}, {"+-5", 0, false}, {"1\x00x", 1, true}, {"0xg", 0, false}, {"1.2.3", 0, false},
	} {
		got, ok := Parse([]byte(tt.text))
		if ok != tt.ok || ok && got != tt.want && !(math.IsNaN(got) && math.IsNaN(tt.want)) {
			t.Errorf("Parse(%q) = %v, %v, want %v, %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

func TestParsePrefix(t *testing.T) {
	for _, tt := range []struct {
		text string
		want float64
		n    int
	}{
		{"1,2", 1, 1}, {"1e5]", 1e5, 3}, {"1e]", 1, 1}, {"1e+", 1, 1}, {"0x", 0, 1}, {"0x1p", 1, 3}, {"-", 0, 0},
		{"-inf]", math.Inf(-1), 4}, {"infinite", math.Inf(1), 3}, {"1.5.5", 1.5, 3}, {" 1", 0, 0},
	} {
		if got, n := ParsePrefix([]byte(tt.text)); got != tt.want || n != tt.n {
			t.Errorf("ParsePrefix(%q) = %v, %v, want %v, %v", tt.text, got, n, tt.want, tt.n)
		}
	}
}

func TestParseBase(t *testing.T) {
	for _, tt := range []struct {
		text string
		base int
		want float64
		ok   bool
	}{
		{"10", 2, 2, true}, {"zz", 36, 1295, true}, {"8", 8, 0, false}, {"-ff", 16, 18446744073709551361, true},
		{"0xff", 16, 255, true}, {" 11 ", 2, 3, true}, {"7fffffffffffffffff", 16, math.MaxUint64, true}, {"", 2, 0, false},
		{"1.5", 8, 0, false},
	} {
		if got, ok := ParseBase([]byte(tt.text), tt.base); got != tt.want || ok != tt.ok {
			t.Errorf("ParseBase(%q, %d) = %v, %v, want %v, %v", tt.text, tt.base, got, ok, tt.want, tt.ok)
		}
	}
}

func TestSpec(t *testing.T) {
	none := Spec{Precision: -1}
	with := func(change func(*Spec)) Spec {
		s := none
		change(&s)
		return s
	}
	for _, tt := range []struct {
		name string
		got  []byte
		want string
	}{
		{"%#x", with(func(s *Spec) { s.Sharp, s.Verb = true, 'x' }).AppendInt(nil, 255), "0xff"},
		{"%X of -1", with(func(s *Spec) { s.Verb = 'X' }).AppendInt(nil, -1), "FFFFFFFFFFFFFFFF"},
		{"%#o", with(func(s *Spec) { s.Sharp, s.Verb = true, 'o' }).AppendInt(nil, 8), "010"},
		{"%05d", with(func(s *Spec) { s.Zero, s.Width, s.Verb = true, 5, 'd' }).AppendInt(nil, -42), "-0042"},
		{"%-5d", with(func(s *Spec) { s.Minus, s.Width, s.Verb = true, 5, 'd' }).AppendInt(nil, 42), "42   "},
		{"%.3d", Spec{Precision: 3, Verb: 'd'}.AppendInt(nil, 7), "007"},
		{"% d", with(func(s *Spec) { s.Space, s.Verb = true, 'd' }).AppendInt(nil, 5), " 5"},
		{"%05.1f", Spec{Zero: true, Width: 5, Precision: 1, Verb: 'f'}.AppendFloat(nil, 3.14), "003.1"},
		{"%010g", with(func(s *Spec) { s.Zero, s.Width, s.Verb = true, 10, 'g' }).AppendFloat(nil, 1.5), "00000001.5"},
		{"%+g", with(func(s *Spec) { s.Plus, s.Verb = true, 'g' }).AppendFloat(nil, 1.5), "+1.5"},
		{"%#g", with(func(s *Spec) { s.Sharp, s.Verb = true, 'g' }).AppendFloat(nil, 1), "1.00000"},
		{"%#.0f", Spec{Sharp: true, Verb: 'f'}.AppendFloat(nil, 3), "3."},
		{"%E", with(func(s *Spec) { s.Verb = 'E' }).AppendFloat(nil, 1e10), "1.000000E+10"},
		{"%G of nan", with(func(s *Spec) { s.Verb = 'G' }).AppendFloat(nil, math.Copysign(math.NaN(), -1)), "-NAN"},
		{"%5.1s", Spec{Width: 5, Precision: 1, Verb: 's'}.AppendText(nil, []byte("abc")), "    a"},
	} {
		if string(tt.got) != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestCasts(t *testing.T) {
	if ToInt(-3.7) != -3 || ToInt(1e30) != math.MinInt64 || ToInt(math.NaN()) != math.MinInt64 ||
		ToUint(1e19) != 10000000000000000000 || ToUint(-5) != math.MaxUint64-4 {
		t.Error("a cast differs from C's")
	}
}
