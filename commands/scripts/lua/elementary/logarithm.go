package elementary

import "math"

var inverseLn10 = pair{0x1.bcb7b1526e50ep-2, 1/math.Ln10 - 0x1.bcb7b1526e50ep-2}

// Log returns the natural logarithm of x.
func Log(x float64) float64 {
	if y, special := specialLog(x); special {
		return y
	}
	return log(x).round()
}

// Log10 returns the logarithm of x to the base 10.
func Log10(x float64) float64 {
	if y, special := specialLog(x); special {
		return y
	}
	return log(x).times(inverseLn10).round()
}

// specialLog returns the logarithm, to any base, of numbers that log does not accept.
func specialLog(x float64) (y float64, special bool) {
	switch {
	case x != x, x > math.MaxFloat64:
		return x, true
	case x < 0:
		return math.NaN(), true
	case x == 0:
		return math.Inf(-1), true
	}
	return 0, false
}

// logStart is the bit pattern of the first number of the table of logarithms. The number 1 is in
// the middle of the table's part logOne.
const (
	logOne   = 75
	logStart = 1023<<52 - (2*logOne+1)<<(51-logBits)
)

// log returns the natural logarithm of a positive finite number, with a relative error of 2^-68.
//
// x is z * 2^k. The table entry of z has 1/c, with few digits, for a c near z, and log c. So log x
// = k log 2 + log c + log(1+r), where r = z/c - 1 is exact as a pair.
func log(x float64) pair {
	bits := math.Float64bits(x)
	bias := 0
	if x < 0x1p-1022 {
		bits, bias = math.Float64bits(float64(x*0x1p54)), 54
	}
	offset := int64(bits - logStart)
	entry := &logTable[offset>>(52-logBits)&(1<<logBits-1)]
	k := float64(int(offset>>52) - bias)
	z := math.Float64frombits(bits - uint64(offset)&^(1<<52-1))
	high := half(z)
	r := fastSum(float64(high*entry.inverse)-1, float64((z-high)*entry.inverse))

	t := r.high
	square := product(t, t)
	series := 1.0/3 - float64(t*(1.0/4-float64(t*(1.0/5-float64(t*(1.0/6-
		float64(t*(1.0/7-float64(t*(1.0/8-float64(t*(1.0/9-float64(t*(1.0/10))))))))))))))
	whole := sum(float64(k*ln2High), entry.log.high)
	first := sum(whole.high, t)
	second := sum(first.high, -square.high/2)
	low := entry.log.low + float64(k*ln2Low) + whole.low + first.low
	low += second.low + (r.low - float64(t*r.low)) - square.low/2 + float64(float64(square.high*t)*series)
	return fastSum(second.high, low)
}

// Pow returns x^y.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x != x:
		return x
	case y != y:
		return y
	case y == 1:
		return x
	case y == 2:
		return float64(x * x)
	case y == 0.5 && x > 0:
		return math.Sqrt(x)
	}
	a := math.Abs(x)
	odd := isOdd(y)
	switch {
	case a == 0 || a > math.MaxFloat64 || math.IsInf(y, 0):
		return specialPow(a, y, odd && math.Signbit(x))
	case x > 0:
		odd = false
	case y != math.Trunc(y):
		return math.NaN()
	}
	l := log(a)
	switch p := float64(y * l.high); {
	case p > maxExp:
		return signed(math.Inf(1), odd)
	case p < minExp:
		return signed(0, odd)
	case math.Abs(p) < 0x1p-60:
		return signed(1, odd)
	}
	p := product(y, l.high)
	p.low += float64(y * l.low)
	e, n := exp(p)
	return signed(scaled(e, n), odd)
}

// specialPow returns a^y, negated if negative is set. Requires: a is 0 or infinite, or y is
// infinite.
func specialPow(a, y float64, negative bool) float64 {
	switch {
	case a == 1:
		return 1
	case a > 1 == (y > 0):
		return signed(math.Inf(1), negative)
	}
	return signed(0, negative)
}

func signed(x float64, negative bool) float64 {
	if negative {
		return -x
	}
	return x
}

// isOdd reports whether x is an odd integer.
func isOdd(x float64) bool {
	if math.Abs(x) >= 1<<53 || x != math.Trunc(x) {
		return false
	}
	return int64(x)&1 != 0
}
