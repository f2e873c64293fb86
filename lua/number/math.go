package number

import "math"

// Pow is C's pow, also for the signs of NaNs, which Lua shows.
func Pow(a, b float64) float64 {
	x := math.Pow(a, b)
	switch {
	case x == x:
	case a != a && math.Abs(math.Mod(b, 2)) == 1:
		return InvalidPositive
	default:
		return nanOf(a, b)
	}
	return x
}

// Log and Log10 are C's logarithms. Those of Go are wrong for subnormal numbers on amd64
// (Go 1.26), so these are scaled up.
func Log(x float64) float64 {
	if isSubnormal(x) {
		return math.Log(x*scale) - scaleBits*math.Ln2
	}
	return math.Log(x)
}

// Log10 is the logarithm of base 10.
func Log10(x float64) float64 {
	if isSubnormal(x) {
		return math.Log10(x*scale) - scaleBits*(math.Ln2/math.Ln10)
	}
	return math.Log10(x)
}

func isSubnormal(x float64) bool { return x > 0 && x < 0x1p-1022 }

// scale makes a subnormal number normal.
const (
	scaleBits = 54
	scale     = 1 << scaleBits
)

// Binary makes f, a function of two numbers, treat NaNs as C's do.
func Binary(f func(a, b float64) float64) func(a, b float64) float64 {
	return func(a, b float64) float64 {
		if x := f(a, b); x == x {
			return x
		}
		return nanOf(a, b)
	}
}

// Unary makes f, a function of a number, treat NaNs as C's do: a NaN stays as it is.
// invalid is the result for numbers outside of the domain.
func Unary(f func(x float64) float64, invalid float64) func(x float64) float64 {
	return func(x float64) float64 {
		switch y := f(x); {
		case y == y:
			return y
		case x != x:
			return x
		}
		return invalid
	}
}

// Invalid and InvalidPositive are the NaNs that functions of C return outside of their
// domain on x86: most the first; acos, asin and log10 the other.
var (
	Invalid         = math.Float64frombits(0xFFF8 << 48)
	InvalidPositive = math.Float64frombits(0x7FF8 << 48)
)

// nanOf returns the first NaN of two operands, or the one of an invalid operation.
func nanOf(a, b float64) float64 {
	switch {
	case a != a:
		return a
	case b != b:
		return b
	}
	return Invalid
}
