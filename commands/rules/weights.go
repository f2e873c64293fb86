package rules

import (
	mathbits "math/bits"

	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// An Amount is a named amount of a request, such as the tokens of its prompt.
type Amount struct {
	Name []byte
	N    int64 // 0 to engine.MaxN; of a request with Used, from -engine.MaxN on
}

// weigh returns the sum of amounts times their weights, rounded up to a whole number: a spend is never
// counted too low, and never too much is given back. ok is false beyond engine.MaxN.
func weigh(weights []source.Weight, amounts []Amount) (n int64, ok bool) {
	var taken, given wide
	for i := range amounts {
		a := &amounts[i]
		for j := range weights {
			if w := &weights[j]; w.Name != string(a.Name) {
				continue
			}
			if m := uint64(weights[j].Millionths); a.N >= 0 {
				taken.addProduct(uint64(a.N), m)
			} else {
				given.addProduct(uint64(-a.N), m)
			}
			break
		}
	}
	const million = 1_000_000
	if taken.less(given) {
		given.subtract(taken)
		n, ok = given.dividedBy(million)
		return -n, ok
	}
	taken.subtract(given)
	taken.addProduct(1, million-1)
	return taken.dividedBy(million)
}

// A wide is a number of 128 bits. The sums of a request are below 2^107.
type wide struct{ high, low uint64 }

func (x *wide) addProduct(a, b uint64) {
	high, low := mathbits.Mul64(a, b)
	var carry uint64
	x.low, carry = mathbits.Add64(x.low, low, 0)
	x.high, _ = mathbits.Add64(x.high, high, carry)
}

func (x *wide) subtract(y wide) {
	var borrow uint64
	x.low, borrow = mathbits.Sub64(x.low, y.low, 0)
	x.high, _ = mathbits.Sub64(x.high, y.high, borrow)
}

func (x *wide) less(y wide) bool { return x.high < y.high || x.high == y.high && x.low < y.low }

// dividedBy returns the whole part of x / y; ok is false if it is more than engine.MaxN.
func (x *wide) dividedBy(y uint64) (n int64, ok bool) {
	if x.high >= y {
		return 0, false
	}
	quotient, _ := mathbits.Div64(x.high, x.low, y)
	if quotient > engine.MaxN {
		return 0, false
	}
	return int64(quotient), true
}
