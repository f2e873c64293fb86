package numbers

import "math"

// MaxExtended is the greatest finite number.
var MaxExtended = Extended{mantissa: math.MaxUint64, exponent: maxBinary - 64}

// Neg returns -x.
func (x Extended) Neg() Extended {
	x.negative = !x.negative && (x.mantissa != 0 || x.infinite)
	return x
}

// Sign returns -1, 0 or 1. Requires: x is not the sum of opposite infinities.
func (x Extended) Sign() int {
	switch {
	case x.mantissa == 0 && !x.infinite:
		return 0
	case x.negative:
		return -1
	}
	return 1
}

// Cmp returns -1, 0 or 1 if x is less than, equal to, or greater than y.
func (x Extended) Cmp(y Extended) int {
	if x.infinite && y.infinite && x.negative == y.negative {
		return 0
	}
	return x.Add(y.Neg()).Sign()
}
