package number

import (
	"math"

	"limitsrv/commands/scripts/lua/elementary"
)

// Pow is C's pow, also for the signs of NaNs, which Lua shows.
func Pow(a, b float64) float64 { return signedPow(a, b, elementary.Pow(a, b)) }

// signedPow returns x, which is a^b. If x is NaN, the result has the same sign as in C.
func signedPow(a, b, x float64) float64 {
	switch {
	case x == x:
		return x
	case a != a && math.Abs(math.Mod(b, 2)) == 1:
		return InvalidPositive
	}
	return NaN(a, b)
}

// Binary makes f, a function of two numbers, treat NaNs as C's do.
func Binary(f func(a, b float64) float64) func(a, b float64) float64 {
	return func(a, b float64) float64 {
		if x := f(a, b); x == x {
			return x
		}
		return NaN(a, b)
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

// NaN returns the NaN of an operation as x86 computes it: the first operand that is NaN, or
// Invalid. Other processors compute other NaNs.
func NaN(a, b float64) float64 {
	switch {
	case a != a:
		return a
	case b != b:
		return b
	}
	return Invalid
}
