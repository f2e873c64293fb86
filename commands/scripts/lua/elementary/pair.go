package elementary

import "math"

// A pair is the sum of two numbers. After fastSum and sum, low is at most half a unit in the
// last place of high.
type pair struct{ high, low float64 }

// fastSum returns a+b exactly. Requires: |a| >= |b|, or a is 0.
func fastSum(a, b float64) pair {
	s := a + b
	return pair{s, b - (s - a)}
}

// sum returns a+b exactly.
func sum(a, b float64) pair {
	s := a + b
	t := s - a
	return pair{s, (a - (s - t)) + (b - t)}
}

// half returns a number with the upper binary digits of a, at most 26.
func half(a float64) float64 {
	return math.Float64frombits(math.Float64bits(a) &^ (1<<27 - 1))
}

// product returns a*b with a relative error of 2^-105. Requires: the result is far from the bounds
// of the range of doubles.
func product(a, b float64) pair {
	p := float64(a * b)
	ah, bh := half(a), half(b)
	al, bl := a-ah, b-bh
	return pair{p, float64(al*bl) + (float64(al*bh) + (float64(ah*bl) + (float64(ah*bh) - p)))}
}

// times returns the product of pairs with a relative error of about 2^-102.
func (a pair) times(b pair) pair {
	p := product(a.high, b.high)
	return fastSum(p.high, p.low+(float64(a.high*b.low)+float64(a.low*b.high)))
}

// over returns the quotient of pairs with a relative error of about 2^-100.
func (a pair) over(b pair) pair {
	q := a.high / b.high
	p := product(q, b.high)
	rest := ((a.high - p.high) - p.low) + (a.low - float64(q*b.low))
	return fastSum(q, rest/b.high)
}

// plus returns the sum of pairs.
func (a pair) plus(b pair) pair {
	s := sum(a.high, b.high)
	return fastSum(s.high, s.low+(a.low+b.low))
}

func (a pair) negative() pair { return pair{-a.high, -a.low} }

// root returns the square root of a positive pair.
func (a pair) root() pair {
	q := math.Sqrt(a.high)
	p := product(q, q)
	return fastSum(q, (((a.high-p.high)-p.low)+a.low)/(q+q))
}

// round returns the nearest double.
func (a pair) round() float64 { return a.high + a.low }

// times2 returns x*2^n. Requires: x is 0, or x and 2^n are normal.
func times2(x float64, n int) float64 {
	return float64(x * math.Float64frombits(uint64(n+1023)<<52))
}
