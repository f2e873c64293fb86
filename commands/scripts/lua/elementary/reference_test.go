package elementary

import (
	"math"
	"math/big"
)

// precision is the number of digits of references. It covers the quotient of the largest
// double and pi/2.
const precision = 1400

func number(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

func empty() *big.Float { return new(big.Float).SetPrec(precision) }

// isNegligible reports whether a term no longer changes a sum near 1.
func isNegligible(term *big.Float) bool { return term.Sign() == 0 || term.MantExp(nil) < -precision-8 }

// referencePi is computed by Machin's formula.
var referencePi = func() *big.Float {
	inverse := func(n float64) *big.Float { return arctanSeries(empty().Quo(number(1), number(n))) }
	a := empty().Mul(number(16), inverse(5))
	return a.Sub(a, empty().Mul(number(4), inverse(239)))
}()

var referenceLn2 = referenceLogNear(number(2))

// arctanSeries computes the series of Gregory. Requires: |x| < 1/2.
func arctanSeries(x *big.Float) *big.Float {
	result, power, square := empty().Set(x), empty().Set(x), empty().Mul(x, x)
	square.Neg(square)
	for n := 3.0; ; n += 2 {
		power.Mul(power, square)
		term := empty().Quo(power, number(n))
		if term.Sign() == 0 || term.MantExp(nil)-result.MantExp(nil) < -precision {
			return result
		}
		result.Add(result, term)
	}
}

func referenceAtan(x *big.Float) *big.Float {
	if x.Sign() == 0 {
		return empty()
	}
	y := empty().Set(x)
	const halvings = 12
	for range halvings {
		root := empty().Mul(y, y)
		root.Sqrt(root.Add(root, number(1)))
		y.Quo(y, root.Add(root, number(1)))
	}
	return empty().SetMantExp(arctanSeries(y), halvings)
}

func referenceAtan2(y, x *big.Float) *big.Float {
	if x.Sign() == 0 {
		half := empty().Quo(referencePi, number(2))
		if y.Sign() < 0 {
			half.Neg(half)
		}
		return half
	}
	a := referenceAtan(empty().Quo(y, x))
	switch {
	case x.Sign() > 0:
		return a
	case y.Sign() < 0:
		return a.Sub(a, referencePi)
	}
	return a.Add(a, referencePi)
}

func referenceExp(x *big.Float) *big.Float {
	const squarings = 40
	y := empty().SetMantExp(x, -squarings)
	result, term := number(1), number(1)
	for n := 1.0; !isNegligible(term); n++ {
		term.Quo(term.Mul(term, y), number(n))
		result.Add(result, term)
	}
	for range squarings {
		result.Mul(result, result)
	}
	return result
}

// referenceLogNear computes the logarithm of a number near 1 by Newton's method.
func referenceLogNear(x *big.Float) *big.Float {
	start, _ := x.Float64()
	y := number(math.Log(start))
	for range 6 {
		e := referenceExp(empty().Neg(y))
		e.Mul(e, x) // x / e^y
		y.Add(y, e.Sub(e, number(1)))
	}
	return y
}

func referenceLog(x *big.Float) *big.Float {
	mantissa := empty()
	exponent := x.MantExp(mantissa)
	y := referenceLogNear(mantissa)
	return y.Add(y, empty().Mul(referenceLn2, number(float64(exponent))))
}

// referenceSincos returns the sine and the cosine of x.
func referenceSincos(x *big.Float) (sin, cos *big.Float) {
	turn := empty().Mul(referencePi, number(2))
	turns, _ := empty().Quo(x, turn).Int(nil)
	r := empty().Sub(x, empty().Mul(turn, empty().SetInt(turns)))
	sin, cos = empty(), number(1)
	term := number(1)
	for n := 1; !isNegligible(term); n++ {
		term.Quo(term.Mul(term, r), number(float64(n)))
		if n%4 < 2 {
			addTo(sin, cos, term, n)
		} else {
			addTo(sin, cos, empty().Neg(term), n)
		}
	}
	return sin, cos
}

// addTo adds the term of a power: odd powers belong to the sine.
func addTo(sin, cos, term *big.Float, power int) {
	if power%2 == 1 {
		sin.Add(sin, term)
	} else {
		cos.Add(cos, term)
	}
}

func referenceHyperbolic(x *big.Float) (sinh, cosh *big.Float) {
	e := referenceExp(x)
	inverse := empty().Quo(number(1), e)
	sinh, cosh = empty().Sub(e, inverse), empty().Add(e, inverse)
	return sinh.Quo(sinh, number(2)), cosh.Quo(cosh, number(2))
}

// otherSide returns the cosine of the angle whose sine is x.
func otherSide(x *big.Float) *big.Float {
	y := empty().Mul(x, x)
	return y.Sqrt(y.Sub(number(1), y))
}

// references has the exact values for finite arguments within the domain.
var references = map[string]func(x, y *big.Float) *big.Float{
	"exp":   func(x, _ *big.Float) *big.Float { return referenceExp(x) },
	"log":   func(x, _ *big.Float) *big.Float { return referenceLog(x) },
	"log10": func(x, _ *big.Float) *big.Float { return empty().Quo(referenceLog(x), referenceLog(number(10))) },
	"pow": func(x, y *big.Float) *big.Float {
		return referenceExp(empty().Mul(y, referenceLog(x)))
	},
	"sin": func(x, _ *big.Float) *big.Float {
		s, _ := referenceSincos(x)
		return s
	},
	"cos": func(x, _ *big.Float) *big.Float {
		_, c := referenceSincos(x)
		return c
	},
	"tan": func(x, _ *big.Float) *big.Float {
		s, c := referenceSincos(x)
		return s.Quo(s, c)
	},
	"asin":  func(x, _ *big.Float) *big.Float { return referenceAtan2(x, otherSide(x)) },
	"acos":  func(x, _ *big.Float) *big.Float { return referenceAtan2(otherSide(x), x) },
	"atan":  func(x, _ *big.Float) *big.Float { return referenceAtan(x) },
	"atan2": func(y, x *big.Float) *big.Float { return referenceAtan2(y, x) },
	"sinh": func(x, _ *big.Float) *big.Float {
		s, _ := referenceHyperbolic(x)
		return s
	},
	"cosh": func(x, _ *big.Float) *big.Float {
		_, c := referenceHyperbolic(x)
		return c
	},
	"tanh": func(x, _ *big.Float) *big.Float {
		s, c := referenceHyperbolic(x)
		return s.Quo(s, c)
	},
}
