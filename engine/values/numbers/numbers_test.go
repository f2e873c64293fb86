package numbers

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestParseInt(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true}, {"7", 7, true}, {"-1", -1, true}, {"1234567890123", 1234567890123, true},
		{"9223372036854775807", math.MaxInt64, true}, {"-9223372036854775808", math.MinInt64, true},
		{"9223372036854775808", 0, false}, {"-9223372036854775809", 0, false}, {"99999999999999999999", 0, false},
		{"", 0, false}, {"-", 0, false}, {"-0", 0, false}, {"00", 0, false}, {"01", 0, false}, {"-01", 0, false},
		{"+1", 0, false}, {" 1", 0, false}, {"1 ", 0, false}, {"1.0", 0, false}, {"1e3", 0, false}, {"0x1", 0, false},
		{"1\x00", 0, false}, {":", 0, false}, {"/", 0, false},
	} {
		n, ok := ParseInt([]byte(tt.text))
		if ok != tt.ok || ok && n != tt.want {
			t.Errorf("ParseInt(%q) = %d, %v, want %d, %v", tt.text, n, ok, tt.want, tt.ok)
		}
		if ok && IntBytes(n) != len(tt.text) {
			t.Errorf("IntBytes(%d) = %d, want %d", n, IntBytes(n), len(tt.text))
		}
	}
}

func TestParseDouble(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		text string
		want float64
		ok   bool
	}{
		{"0", 0, true}, {"-0", math.Copysign(0, -1), true}, {"1", 1, true}, {"+1", 1, true}, {"01", 1, true},
		{".5", .5, true}, {"5.", 5, true},
		{"1e3", 1000, true}, {"1E+3", 1000, true}, {"-1e-3", -.001, true}, {"0x10", 16, true}, {"0X1p4", 16, true},
		{"0x.8p1", 1, true}, {"-0x1.8", -1.5, true},
		{"inf", inf, true}, {"-INF", -inf, true}, {"+Infinity", inf, true}, {"0e999", 0, true}, {"5e-324", 5e-324, true},
		{"9007199254740993", 9007199254740992, true}, {"0.1", .1, true},
		{"123456789012345678901234567890", 123456789012345678901234567890, true},
		{"", 0, false}, {" 1", 0, false}, {"1 ", 0, false}, {"nan", 0, false}, {"NaN(1)", 0, false}, {"1e999", 0, false},
		{"-1e999", 0, false}, {"1e-999", 0, false},
		{"1e", 0, false}, {"1e+", 0, false}, {"0x", 0, false}, {"0x.", 0, false}, {".", 0, false}, {"-", 0, false},
		{"1_0", 0, false}, {"0x1_0", 0, false},
		{"infi", 0, false}, {"1\x00", 0, false}, {"1.2.3", 0, false}, {"--1", 0, false}, {"1p2", 0, false},
		{"in\x66", inf, true}, {"\x09n", 0, false},
	} {
		got, ok := ParseDouble([]byte(tt.text))
		if ok != tt.ok || ok && math.Float64bits(got) != math.Float64bits(tt.want) {
			t.Errorf("ParseDouble(%q) = %v, %v, want %v, %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

func TestParseScoreBound(t *testing.T) {
	inf := math.Inf(1)
	for _, tt := range []struct {
		text      string
		want      float64
		exclusive bool
		ok        bool
	}{
		{"1", 1, false, true}, {"(1", 1, true, true}, {"-inf", -inf, false, true}, {"(+inf", inf, true, true},
		{"( 2.5", 2.5, true, true},
		{" 3", 3, false, true}, {"1e999", inf, false, true}, {"1e-999", 0, false, true}, {"", 0, false, true},
		{"(", 0, true, true}, {"4\x00x", 4, false, true},
		{"nan", 0, false, false}, {"((1", 0, true, false}, {"1x", 0, false, false}, {"[1", 0, false, false},
		{" ", 0, false, false}, {"x", 0, false, false},
	} {
		got, exclusive, ok := ParseScoreBound([]byte(tt.text))
		if ok != tt.ok || exclusive != tt.exclusive || ok && got != tt.want {
			t.Errorf("ParseScoreBound(%q) = %v, %v, %v, want %v, %v, %v", tt.text, got, exclusive, ok, tt.want, tt.exclusive,
				tt.ok)
		}
	}
}

func TestParseLexBound(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		ok         bool
	}{
		{"-", "-1", true}, {"+", "1", true}, {"[a", "0 a false", true}, {"(a", "0 a true", true}, {"[", "0  false", true},
		{"(", "0  true", true},
		{"", "", false}, {"a", "", false}, {"-a", "", false}, {"+inf", "", false},
	} {
		b, ok := ParseLexBound([]byte(tt.text))
		got := strconv.Itoa(b.Infinite)
		if b.Infinite == 0 {
			got += fmt.Sprintf(" %s %v", b.Member, b.Exclusive)
		}
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("ParseLexBound(%q) = %s, %v, want %s, %v", tt.text, got, ok, tt.want, tt.ok)
		}
	}
}

func TestAppendDouble(t *testing.T) {
	for _, tt := range []struct {
		x    float64
		want string
	}{
		{0, "0"}, {math.Copysign(0, -1), "-0"}, {1, "1"}, {-5, "-5"}, {.1, "0.1"},
		{0.30000000000000004, "0.30000000000000004"}, {1.5, "1.5"}, {-1234.5678, "-1234.5678"},
		{math.Inf(1), "inf"}, {math.Inf(-1), "-inf"}, {math.NaN(), "nan"}, {1e15, "1000000000000000"},
		{1e18, "1000000000000000000"}, {1 << 62, "4611686018427387904"},
		{1e20, "1e+20"}, {1e19, "1e+19"}, {12345678901234567890, "12345678901234567000"}, {1.5e300, "1.5e+300"},
		{1e-5, "0.00001"}, {1e-7, "1e-7"}, {1.5e-7, "1.5e-7"}, {1e-300, "1e-300"},
		{5e-324, "5e-324"}, {math.MaxFloat64, "1.7976931348623157e+308"}, {1699999999.123, "1699999999.123"},
		{.000012345, "1.2345e-5"}, {1.2345e-9, "1.2345e-9"},
		// Not the shortest forms, but the forms of Redis.
		{6605.650000000001, "6605.6500000000005"}, {0.3023235379490746, "0.30232353794907463"},
		{-6.66811358445053e+273, "-6.6681135844505305e+273"}, {250257400067564.88, "250257400067564.87"},
	} {
		if got := string(AppendDouble(nil, tt.x)); got != tt.want {
			t.Errorf("AppendDouble(%v) = %s, want %s", tt.x, got, tt.want)
		}
	}
}

func TestPowers(t *testing.T) {
	for i, got := range powers {
		decimal := firstPower + i*powerStep
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(decimal, -decimal))), nil)
		ratio := new(big.Rat).SetInt(power)
		if decimal < 0 {
			ratio.Inv(ratio)
		}
		mantissa := new(big.Float)
		exponent := new(big.Float).SetPrec(64).SetRat(ratio).MantExp(mantissa) - 64
		want, _ := mantissa.SetMantExp(mantissa, 64).Uint64()
		if got != want || powerExponent(decimal) != exponent {
			t.Errorf("10^%d is %x times 2^%d, want %x, 2^%d", decimal, got, powerExponent(decimal), want, exponent)
		}
	}
}

func TestAppendDoubleReadsBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		x := math.Float64frombits(r.Uint64())
		if math.IsNaN(x) {
			continue
		}
		text := AppendDouble(nil, x)
		got, ok := ParseDouble(text)
		if !ok || got != x {
			t.Fatalf("ParseDouble(%s) = %v, %v, want %v", text, got, ok, x)
		}
	}
}

func TestExtendedSums(t *testing.T) {
	for _, tt := range []struct{ x, y, want string }{
		{"0.1", "0.2", "0.3"}, {"10.50", "0.1", "10.6"}, {"5.0e3", "2.0e2", "5200"}, {"3", "1.1", "4.1"}, {"-1", "1", "0"},
		{"0", "-0", "0"}, {"-0", "-0", "0"},
		{"1e18", "0.5", "1000000000000000000.5"}, {"1e30", "1", "1000000000000000000024696061952"},
		{"0.000000000000000001", "0", "0"}, {"-0.000000000000000001", "0", "0"},
		{"0.00000000000000001", "0", "0.00000000000000001"}, {"9223372036854775807", "1", "9223372036854775808"},
		{"18446744073709551615", "1", "18446744073709551616"},
		{"0x1p-3", "1", "1.125"}, {"1e-4000", "2", "2"}, {"0.99999999999999999999999999999", "0", "1"}, {"-0.1", "0.1", "0"},
		{"0.3", "-0.1", "0.2"},
	} {
		x, ok := ParseExtended([]byte(tt.x))
		y, ok2 := ParseExtended([]byte(tt.y))
		if !ok || !ok2 {
			t.Errorf("ParseExtended(%q), ParseExtended(%q) = %v, %v, want true", tt.x, tt.y, ok, ok2)
		}
		if got := string(x.Add(y).AppendHuman(nil)); got != tt.want {
			t.Errorf("%s + %s = %s, want %s", tt.x, tt.y, got, tt.want)
		}
	}
	for _, text := range []string{"", " 1", "1 ", "nan", "1e5000", "-1e5000", "1e-5000", "1e999999999999", "0xap-999999",
		"x", "0x", "1..2", strings.Repeat("1", MaxExtendedBytes), strings.Repeat("9", 4934)} {
		if x, ok := ParseExtended([]byte(text)); ok {
			t.Errorf("ParseExtended(%.30q) = %v, want an error", text, x)
		}
	}
	inf, _ := ParseExtended([]byte("inf"))
	minus, _ := ParseExtended([]byte("-inf"))
	one, _ := ParseExtended([]byte("1"))
	most, _ := ParseExtended([]byte("1.18e4932"))
	if inf.Finite() || !one.Finite() || inf.Add(one).Finite() || one.Add(minus).Finite() || inf.Add(minus).Finite() ||
		most.Add(most).Finite() {
		t.Error("Finite reports an infinity or no number as finite, or the reverse")
	}
}

// TestExtendedAgainstBig compares parsing and sums with math/big, which rounds exactly.
func TestExtendedAgainstBig(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	value := func(x Extended) *big.Float {
		f := new(big.Float).SetPrec(64).SetUint64(x.mantissa)
		f.SetMantExp(f, x.exponent)
		if x.negative {
			f.Neg(f)
		}
		return f
	}
	number := func() string {
		digits := strconv.FormatUint(r.Uint64()>>r.IntN(64), 10)
		if r.IntN(3) > 0 {
			at := r.IntN(len(digits) + 1)
			digits = digits[:at] + "." + digits[at:]
		}
		if r.IntN(3) == 0 {
			digits += "e" + strconv.Itoa(r.IntN(60)-30)
		}
		if r.IntN(2) == 0 {
			digits = "-" + digits
		}
		return digits
	}
	for range 20_000 {
		a, b := number(), number()
		x, okX := ParseExtended([]byte(a))
		y, okY := ParseExtended([]byte(b))
		if !okX || !okY {
			t.Fatalf("ParseExtended(%q), (%q) = %v, %v", a, b, okX, okY)
		}
		exact, _ := new(big.Rat).SetString(a)
		wantX := new(big.Float).SetPrec(64).SetRat(exact)
		if value(x).Cmp(wantX) != 0 {
			t.Fatalf("ParseExtended(%q) = %v, want %v", a, value(x), wantX)
		}
		want := new(big.Float).SetPrec(64).Add(value(x), value(y))
		sum := x.Add(y)
		if value(sum).Cmp(want) != 0 {
			t.Fatalf("%s + %s = %v, want %v", a, b, value(sum), want)
		}
		text := want.Text('f', 17)
		if strings.Contains(text, ".") {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		if text == "-0" {
			text = "0"
		}
		if got := string(sum.AppendHuman(nil)); got != text {
			t.Fatalf("AppendHuman(%s + %s) = %s, want %s", a, b, got, text)
		}
	}
}

func FuzzNumbers(f *testing.F) {
	for _, seed := range []string{"", "1", "-0x1.fp-3", "1e999999999999999999", "infinity", "nan(12_a)", "(1", "[a",
		"0.000001e-5000", "123456789012345678901234567890e-20"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, ok := ParseInt(b); ok && strconv.FormatInt(n, 10) != string(b) {
			t.Errorf("ParseInt(%q) = %d", b, n)
		}
		if x, ok := ParseDouble(b); ok {
			if bound, exclusive, ok := ParseScoreBound(b); !ok || exclusive || bound != x {
				t.Errorf("ParseScoreBound(%q) = %v, %v, %v, want %v", b, bound, exclusive, ok, x)
			}
		}
		ParseLexBound(b)
		if x, ok := ParseExtended(b); ok && x.Finite() {
			if _, again := ParseExtended(x.AppendHuman(nil)); !again {
				t.Errorf("ParseExtended does not read the text of %q", b)
			}
		}
	})
}

func TestNoAllocations(t *testing.T) {
	texts := [][]byte{[]byte("12"), []byte("-1699999999.125"), []byte("0.1"), []byte("(1699999999123"), []byte("[abc")}
	dst := make([]byte, 0, 100)
	if n := testing.AllocsPerRun(100, func() {
		for _, text := range texts {
			ParseInt(text)
			x, _ := ParseDouble(text)
			ParseScoreBound(text)
			ParseLexBound(text)
			y, _ := ParseExtended(text)
			dst = AppendDouble(dst[:0], x)
			dst = y.Add(y).AppendHuman(dst[:0])
		}
	}); n > 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestParseIntDigits compares numbers of all lengths with strconv's, and with a byte changed
// to any other.
func TestParseIntDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for length := 1; length <= 20; length++ {
		for range 20 {
			text := []byte{'1' + byte(r.IntN(9))}
			for len(text) < length {
				text = append(text, '0'+byte(r.IntN(10)))
			}
			if r.IntN(3) == 0 {
				text = append([]byte{'-'}, text...)
			}
			at := r.IntN(len(text))
			for c := range 256 {
				text[at] = byte(c)
				want, err := strconv.ParseInt(string(text), 10, 64)
				usual := err == nil && strconv.FormatInt(want, 10) == string(text)
				if got, ok := ParseInt(text); ok != usual || ok && got != want {
					t.Fatalf("%q is %d, %v, want %d, %v", text, got, ok, want, usual)
				}
			}
		}
	}
}
