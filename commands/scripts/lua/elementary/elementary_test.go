package elementary

import (
	"math"
	"math/big"
	"testing"
)

// TestAccuracy compares results with exact values.
func TestAccuracy(t *testing.T) {
	n := 400
	if testing.Short() {
		n = 150
	}
	for i := range functions {
		f := &functions[i]
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			worst, at, rounded, normal := 0.0, [2]float64{}, 0, 0
			f.each(n, func(x, y float64) {
				got := f.call(x, y)
				exact := f.exact(x, y)
				if exact == nil {
					return
				}
				want, _ := exact.Float64()
				off := distance(got, exact)
				limit := 0.52
				if math.Abs(want) < 0x1p-1022 {
					limit = 1
				}
				if off > limit && got != want {
					t.Errorf("%s(%x, %x) = %x, want %x, off by %.3f units", f.name, x, y, got, want, off)
				}
				normal++
				if got == want {
					rounded++
				}
				if off > worst && got != want {
					worst, at = off, [2]float64{x, y}
				}
			})
			t.Logf("%d results, %.2f%% rounded correctly, worst is off by %.3f units, at %x", normal,
				100*float64(rounded)/float64(normal), worst, at)
		})
	}
}

// exact returns the exact value, or nil for arguments outside of the domain and for those
// that TestSpecial covers.
func (f *tested) exact(x, y float64) *big.Float {
	limit := math.MaxFloat64
	switch f.name {
	case "exp", "sinh", "cosh", "tanh":
		limit = 800
	case "asin", "acos":
		limit = 1
	}
	switch a := math.Abs(x); {
	case x != x || y != y || a > limit || math.Abs(y) > limit:
		return nil
	case x < 0 && (f.name == "log" || f.name == "log10" || f.name == "pow"):
		return nil
	case x == 0 && f.name != "exp" && f.name != "cos" && f.name != "cosh" && f.name != "acos":
		return nil
	case f.name == "pow" && math.Abs(y*math.Log(x)) > 800:
		return nil
	case f.name == "atan2" && (y == 0 || math.Abs(math.Log2(a)-math.Log2(math.Abs(y))) > 1100):
		return nil
	}
	return references[f.name](number(x), number(y))
}

// distance returns |x - exact| in units in the last place of exact.
func distance(x float64, exact *big.Float) float64 {
	if math.IsInf(x, 0) {
		x = math.Copysign(0x1p1023, x)
		d, _ := empty().Sub(exact, empty().SetMantExp(number(x), 1)).Float64()
		return math.Abs(d) / 0x1p971
	}
	exponent := exact.MantExp(nil) - 53
	d := empty().Sub(number(x), exact)
	units, _ := d.SetMantExp(d, -max(exponent, -1074)).Float64()
	return math.Abs(units)
}

// TestSpecial compares results with the results in annex F of C99.
func TestSpecial(t *testing.T) {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	covered := map[string]bool{}
	for _, tt := range []struct {
		name       string
		x, y, want float64
	}{
		{"exp", 0, 0, 1}, {"exp", zero, 0, 1}, {"exp", inf, 0, inf}, {"exp", -inf, 0, 0}, {"exp", nan, 0, nan},
		{"exp", 1e300, 0, inf}, {"exp", -1e300, 0, 0},
		{"log", 1, 0, 0}, {"log", 0, 0, -inf}, {"log", zero, 0, -inf}, {"log", inf, 0, inf}, {"log", -1, 0, nan},
		{"log", -inf, 0, nan}, {"log", nan, 0, nan},
		{"log10", 1, 0, 0}, {"log10", 1000, 0, 3}, {"log10", 1e22, 0, 22}, {"log10", 0, 0, -inf}, {"log10", zero, 0, -inf},
		{"log10", inf, 0, inf}, {"log10", -1, 0, nan}, {"log10", nan, 0, nan},
		{"sin", 0, 0, 0}, {"sin", zero, 0, zero}, {"sin", inf, 0, nan}, {"sin", -inf, 0, nan}, {"sin", nan, 0, nan},
		{"sin", 5e-324, 0, 5e-324},
		{"cos", 0, 0, 1}, {"cos", inf, 0, nan}, {"cos", -inf, 0, nan}, {"cos", nan, 0, nan},
		{"tan", 0, 0, 0}, {"tan", zero, 0, zero}, {"tan", inf, 0, nan}, {"tan", nan, 0, nan},
		{"asin", 0, 0, 0}, {"asin", zero, 0, zero}, {"asin", 1, 0, math.Pi / 2}, {"asin", -1, 0, -math.Pi / 2},
		{"asin", 1.5, 0, nan}, {"asin", inf, 0, nan}, {"asin", nan, 0, nan},
		{"acos", 1, 0, 0}, {"acos", -1, 0, math.Pi}, {"acos", 0, 0, math.Pi / 2}, {"acos", -1.5, 0, nan},
		{"acos", inf, 0, nan}, {"acos", nan, 0, nan},
		{"atan", 0, 0, 0}, {"atan", zero, 0, zero}, {"atan", inf, 0, math.Pi / 2}, {"atan", -inf, 0, -math.Pi / 2},
		{"atan", nan, 0, nan}, {"atan", 1, 0, math.Pi / 4},
		{"sinh", 0, 0, 0}, {"sinh", zero, 0, zero}, {"sinh", inf, 0, inf}, {"sinh", -inf, 0, -inf}, {"sinh", 1000, 0, inf},
		{"sinh", -1000, 0, -inf}, {"sinh", nan, 0, nan},
		{"cosh", 0, 0, 1}, {"cosh", inf, 0, inf}, {"cosh", -inf, 0, inf}, {"cosh", -1000, 0, inf}, {"cosh", nan, 0, nan},
		{"tanh", 0, 0, 0}, {"tanh", zero, 0, zero}, {"tanh", inf, 0, 1}, {"tanh", -inf, 0, -1}, {"tanh", 1000, 0, 1},
		{"tanh", nan, 0, nan},
		{"pow", 0, -3, inf}, {"pow", zero, -3, -inf}, {"pow", zero, -2, inf}, {"pow", zero, -2.5, inf}, {"pow", 0, -inf, inf},
		{"pow", zero, 3, zero}, {"pow", 0, 3, 0}, {"pow", zero, 2.5, 0}, {"pow", zero, 0x1p53, 0},
		{"pow", -1, inf, 1}, {"pow", -1, -inf, 1}, {"pow", 1, nan, 1}, {"pow", nan, 0, 1}, {"pow", nan, zero, 1},
		{"pow", nan, 1, nan}, {"pow", 2, nan, nan}, {"pow", -8, 1.0 / 3, nan},
		{"pow", 0.5, -inf, inf}, {"pow", -0.5, inf, 0}, {"pow", 2, inf, inf}, {"pow", -2, -inf, 0}, {"pow", inf, 2, inf},
		{"pow", inf, -2, 0}, {"pow", -inf, 3, -inf}, {"pow", -inf, 2, inf}, {"pow", -inf, -3, zero}, {"pow", -inf, -2.5, 0},
		{"pow", -2, 3, -8}, {"pow", -2, 1001, -0x1p1001}, {"pow", -2, 1e300, inf}, {"pow", -2, -1e300, 0},
		{"pow", -10, 309, -inf}, {"pow", -10, -325, zero}, {"pow", 10, 15, 1e15}, {"pow", 10, 22, 1e22},
		{"pow", 2, -1074, 5e-324}, {"pow", 3, 33, 5559060566555523}, {"pow", zero, 0.5, 0}, {"pow", -inf, 0.5, inf},
		{"atan2", 0, 1, 0}, {"atan2", zero, 1, zero}, {"atan2", 0, zero, math.Pi}, {"atan2", zero, zero, -math.Pi},
		{"atan2", 0, 0, 0}, {"atan2", zero, -1, -math.Pi}, {"atan2", 1, 0, math.Pi / 2}, {"atan2", -1, zero, -math.Pi / 2},
		{"atan2", inf, inf, math.Pi / 4}, {"atan2", -inf, inf, -math.Pi / 4}, {"atan2", inf, -inf, 3 * math.Pi / 4},
		{"atan2", 1, -inf, math.Pi}, {"atan2", 1, inf, 0}, {"atan2", -1, inf, zero}, {"atan2", inf, 1, math.Pi / 2},
		{"atan2", nan, 1, nan}, {"atan2", 1, nan, nan}, {"atan2", 5e-324, 1e300, 0}, {"atan2", 1e300, -5e-324, math.Pi / 2},
	} {
		covered[tt.name] = true
		for i := range functions {
			f := &functions[i]
			if f.name != tt.name {
				continue
			}
			if got := f.call(tt.x, tt.y); math.Float64bits(got) != math.Float64bits(tt.want) &&
				!(got != got && tt.want != tt.want) {
				t.Errorf("%s(%v, %v) = %v, want %v", tt.name, tt.x, tt.y, got, tt.want)
			}
		}
	}
	for i := range functions {
		if !covered[functions[i].name] {
			t.Errorf("%s has no special values here", functions[i].name)
		}
	}
}
