package elementary

import "math"

// Bounds of the argument of exp: beyond them the result is infinite, or 0.
const (
	maxExp = 710
	minExp = -746
)

// The logarithm of 2 in two parts. The first part has 33 binary digits, so its products with
// exponents are exact.
const (
	ln2High = 0x1.62e42fefp-1
	ln2Low  = math.Ln2 - ln2High
)

// Exp returns e^x.
func Exp(x float64) float64 {
	switch {
	case x != x, x > math.MaxFloat64:
		return x
	case x > maxExp:
		return math.Inf(1)
	case x < minExp:
		return 0
	}
	e, n := exp(pair{x, 0})
	return scaled(e, n)
}

// exp returns e^x as e * 2^n with e from 0.99 to 2 and a relative error of about 2^-61. Requires: x
// is within the bounds.
func exp(x pair) (e pair, n int) {
	const shift = 0x1.8p52 // adding shift rounds a number to an integer
	k := (float64(x.high*(expParts/math.Ln2)) + shift) - shift
	r := fastSum(x.high-float64(k*(ln2High/expParts)), x.low-float64(k*(ln2Low/expParts)))
	t := r.high
	t2 := float64(t * t)
	p := r.low + float64(t2*(1.0/2+float64(t*(1.0/6+float64(t*(1.0/24+float64(t*(1.0/120+float64(t*(1.0/720))))))))))
	entry := &expTable[int(k)&(expParts-1)]
	return fastSum(entry.high, entry.low+float64(entry.high*(t+p))), int(k) >> 7
}

// scaled returns e * 2^n. Requires: e is near 1.
func scaled(e pair, n int) float64 {
	switch {
	case n > 1000:
		return float64(times2(e.round(), n-1000) * 0x1p1000)
	case n >= -1022:
		return times2(e.round(), n)
	case n < -1080:
		return 0
	}
	// The result is subnormal. big has the last place of the result, so the sum with it rounds
	// correctly.
	big := times2(1<<52, -1074-n)
	s := sum(big, e.high)
	return float64(times2((s.high+(s.low+e.low))-big, n+1000) * 0x1p-1000)
}

// The series of the hyperbolic functions are used if |x| is below small.
const small = 0.25

// hyperbolic returns sinh x and cosh x. Requires: 0 <= x <= 22.
func hyperbolic(x float64) (sinh, cosh pair) {
	if x < small {
		t := float64(x * x)
		s := 1.0/6 + float64(t*(1.0/120+
			float64(t*(1.0/5040+float64(t*(1.0/362880+float64(t*(1.0/39916800+float64(t*(1.0/6227020800))))))))))
		c := 1.0/24 + float64(t*(1.0/720+float64(t*(1.0/40320+float64(t*(1.0/3628800+float64(t*(1.0/479001600))))))))
		square := product(x, x)
		cosh = fastSum(1, square.high/2)
		return fastSum(x, float64(float64(x*t)*s)), fastSum(cosh.high, cosh.low+(square.low/2+float64(float64(t*t)*c)))
	}
	e, n := exp(pair{x, 0})
	e = pair{times2(e.high, n-1), times2(e.low, n-1)}
	inverse := pair{0.25, 0}.over(e)
	return e.plus(inverse.negative()), e.plus(inverse)
}

// Sinh returns the hyperbolic sine of x.
func Sinh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x != x, a < 0x1p-28, a > math.MaxFloat64:
		return x
	case a > 22:
		return math.Copysign(halfExp(a), x)
	}
	s, _ := hyperbolic(a)
	return math.Copysign(s.round(), x)
}

// Cosh returns the hyperbolic cosine of x.
func Cosh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x != x:
		return x
	case a > 22:
		return halfExp(a)
	}
	_, c := hyperbolic(a)
	return c.round()
}

// Tanh returns the hyperbolic tangent of x.
func Tanh(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x != x, a < 0x1p-28:
		return x
	case a > 22:
		return math.Copysign(1, x)
	}
	s, c := hyperbolic(a)
	return math.Copysign(s.over(c).round(), x)
}

// halfExp returns e^x / 2. Requires: x is positive.
func halfExp(x float64) float64 {
	if x > maxExp+1 {
		return math.Inf(1)
	}
	e, n := exp(pair{x, 0})
	return scaled(e, n-1)
}
