package elementary

import (
	"math"
	"math/bits"
)

// pi/2 and pi as pairs.
var (
	quarter  = pair{0x1.921fb54442d18p0, math.Pi/2 - 0x1.921fb54442d18p0}
	halfTurn = pair{0x1.921fb54442d18p1, math.Pi - 0x1.921fb54442d18p1}
)

// Odd functions return x if |x| is below tiny: the next term of their series is less than a
// tenth of a unit in the last place.
const tiny = 0x1p-28

// Sin returns the sine of x, in radians.
func Sin(x float64) float64 {
	if math.Abs(x) < tiny {
		return x
	}
	s, _ := sincos(x)
	return s.round()
}

// Cos returns the cosine of x, in radians.
func Cos(x float64) float64 {
	_, c := sincos(x)
	return c.round()
}

// Tan returns the tangent of x, in radians.
func Tan(x float64) float64 {
	if math.Abs(x) < tiny {
		return x
	}
	s, c := sincos(x)
	return s.over(c).round()
}

// sincos returns the sine and the cosine of x, with relative errors of about 2^-66.
func sincos(x float64) (sin, cos pair) {
	a := math.Abs(x)
	if !(a <= math.MaxFloat64) {
		nan := pair{math.NaN(), 0}
		return nan, nan
	}
	quadrant, r := 0, pair{a, 0}
	if a > math.Pi/4 {
		quadrant, r = reduce(a)
	}
	sin, cos = sincosNear(r)
	switch quadrant {
	case 1:
		sin, cos = cos, sin.negative()
	case 2:
		sin, cos = sin.negative(), cos.negative()
	case 3:
		sin, cos = cos.negative(), sin
	}
	if x < 0 {
		sin = sin.negative()
	}
	return sin, cos
}

// sincosNear is sincos for r from -pi/4 to pi/4.
func sincosNear(r pair) (sin, cos pair) {
	if r.high < 0 {
		sin, cos = sincosNear(r.negative())
		return sin.negative(), cos
	}
	i := int(float64(r.high*circularParts) + 0.5)
	entry := &circularTable[i]
	d := sum(r.high-float64(i)/circularParts, r.low)
	t := d.high
	t2 := float64(t * t)
	s := d.low - float64(float64(t2*t)*(1.0/6-float64(t2*(1.0/120-float64(t2*(1.0/5040)))))) // sin d - t
	c := float64(t2 * (1.0/2 - float64(t2*(1.0/24-float64(t2*(1.0/720))))))                  // 1 - cos d
	st, ct := product(entry.sin.high, t), product(entry.cos.high, t)
	sin, cos = fastSum(entry.sin.high, ct.high), fastSum(entry.cos.high, -st.high)
	sin.low += ct.low + entry.sin.low + float64(entry.cos.low*t) + (float64(entry.cos.high*s) - float64(entry.sin.high*c))
	cos.low += -st.low + entry.cos.low - float64(entry.sin.low*t) - (float64(entry.sin.high*s) + float64(entry.cos.high*c))
	return fastSum(sin.high, sin.low), fastSum(cos.high, cos.low)
}

// reduce returns a minus the nearest multiple of pi/2, and the number of that multiple modulo 4.
// Requires: a is finite and above pi/4. The cost does not depend on a.
//
// a is m * 2^e with an integer m. Leading digits of 2/pi are skipped if their products with 2^e are
// multiples of 4. The product of m and the next 192 binary digits is kept modulo 2^192; its upper 2
// bits are the quadrant.
func reduce(a float64) (quadrant int, r pair) {
	b := math.Float64bits(a)
	m := b&(1<<52-1) | 1<<52
	start := uint(b>>52) - 1075 + 62 // index in twoOverPi, which begins with 64 zero digits
	word, shift := start/64, start%64
	digits := func(i uint) uint64 {
		return twoOverPi[word+i]<<shift | twoOverPi[word+i+1]>>(64-shift)
	}
	high2, low2 := bits.Mul64(m, digits(2))
	high1, low1 := bits.Mul64(m, digits(1))
	middle, carry := bits.Add64(low1, high2, 0)
	top := m*digits(0) + high1 + carry
	quadrant = int(top >> 62)
	high, low := top<<2|middle>>62, middle<<2|low2>>62 // the fraction of a quadrant
	negative := high>>63 != 0
	if negative {
		quadrant = (quadrant + 1) & 3
		low, carry = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, carry)
	}
	zeros := bits.LeadingZeros64(high)
	if zeros == 64 {
		high, low = low, 0
		zeros += bits.LeadingZeros64(high)
	}
	n := uint(zeros % 64)
	high, low = high<<n|low>>(64-n), low<<n
	r = pair{times2(float64(high>>11), -53-zeros), times2(float64(high<<53|low>>11), -117-zeros)}.times(quarter)
	if negative {
		r = r.negative()
	}
	return quadrant, r
}
