package elementary

import "math"

// angle returns the angle from 0 to pi/2 of the direction (x, y). Requires: x and y are not
// negative and not both 0. Their products with 2^120 and 2^-120 must be within the range of
// doubles.
func angle(y, x pair) pair {
	steep := y.high > x.high
	if steep {
		x, y = y, x
	}
	u := y.over(x)
	n := int(float64(u.high*angleParts) + 0.5)
	i := float64(n) / angleParts
	entry := &angleTable[n]
	step := product(i, u.high)
	below := sum(1, step.high)
	below.low += step.low + float64(i*u.low)
	d := sum(u.high-i, u.low).over(below)
	t := d.high
	t2 := float64(t * t)
	series := float64(float64(t2*t) * (1.0/3 - float64(t2*(1.0/5-float64(t2*(1.0/7-float64(t2*(1.0/9))))))))
	a := fastSum(entry.high, t)
	a = fastSum(a.high, a.low+(entry.low+(d.low-series)))
	if steep {
		return quarter.plus(a.negative())
	}
	return a
}

// Atan2 returns the angle of the direction (x, y), from -pi to pi.
func Atan2(y, x float64) float64 {
	if x != x {
		return x
	}
	if y != y {
		return y
	}
	a := quarter
	switch u, v := math.Abs(y), math.Abs(x); {
	case u == 0:
		a = pair{} // also correct if x is 0
	case u > math.MaxFloat64 && v > math.MaxFloat64:
		a = pair{quarter.high / 2, quarter.low / 2}
	case v == 0 || u > math.MaxFloat64:
	case v > math.MaxFloat64:
		a = pair{}
	default:
		_, high := math.Frexp(u)
		_, low := math.Frexp(v)
		switch apart := high - low; {
		case apart > 64: // the angle is nearly pi/2
		case apart >= -64:
			a = angle(pair{math.Ldexp(u, -low), 0}, pair{math.Ldexp(v, -low), 0})
		case x > 0:
			return y / x
		default:
			a = pair{}
		}
	}
	if math.Signbit(x) {
		a = halfTurn.plus(a.negative())
	}
	return math.Copysign(a.round(), y)
}

// Atan returns the angle from -pi/2 to pi/2 with the tangent x.
func Atan(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x != x, a < tiny:
		return x
	case a > 0x1p60:
		return math.Copysign(quarter.high, x)
	}
	return math.Copysign(angle(pair{a, 0}, pair{1, 0}).round(), x)
}

// Asin returns the angle from -pi/2 to pi/2 with the sine x.
func Asin(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x != x, a < tiny:
		return x
	case a > 1:
		return math.NaN()
	}
	return math.Copysign(angle(pair{a, 0}, cosine(a)).round(), x)
}

// Acos returns the angle from 0 to pi with the cosine x.
func Acos(x float64) float64 {
	a := math.Abs(x)
	switch {
	case x != x:
		return x
	case a > 1:
		return math.NaN()
	case a < 0x1p-60:
		return quarter.high
	}
	b := angle(cosine(a), pair{a, 0})
	if x < 0 {
		b = halfTurn.plus(b.negative())
	}
	return b.round()
}

// cosine returns the cosine of the angle with the sine a. Requires: 0 <= a <= 1.
func cosine(a float64) pair {
	if a == 1 {
		return pair{}
	}
	square := product(a, a)
	rest := sum(1, -square.high)
	return fastSum(rest.high, rest.low-square.low).root()
}
