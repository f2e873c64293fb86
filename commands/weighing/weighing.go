// Package weighing multiplies the named amounts of a request, for example in=1200, by the weights of a limit, and
// sums the products exactly. Packages rules and reservations import it, and it imports neither.
package weighing

import (
	"bytes"
	"fmt"
	mathbits "math/bits"
	"slices"
	"strings"

	"limitsrv/engine"
)

// Bounds of amounts and weights.
const (
	// MostNames bounds the amounts of a request and the weights of a limit, MaxNameBytes their names.
	MostNames    = 16
	MaxNameBytes = 64
	// Million is the weight 1, because weights are in millionths. MaxWeight is the largest weight, and
	// the largest limit.
	Million   = 1_000_000
	MaxWeight = engine.MaxLimit
)

// An Amount is a named amount of a request.
type Amount struct {
	Name []byte
	N    int64 // 0 to engine.MaxN, or from -engine.MaxN in a correction, see rules.Request.Used
}

// Has reports whether an amount has a name.
func Has(all []Amount, name []byte) bool {
	return slices.ContainsFunc(all, func(a Amount) bool { return bytes.Equal(a.Name, name) })
}

// NameForm is the form of a name, for errors.
var NameForm = fmt.Sprintf("1 to %d letters, digits or _-./ that begin with a letter", MaxNameBytes)

// IsName reports whether name is a valid name of an amount: 1 to MaxNameBytes letters, digits and characters of _-./
// that begin with a letter.
func IsName[T string | []byte](name T) bool {
	if len(name) == 0 || len(name) > MaxNameBytes {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c|0x20 >= 'a' && c|0x20 <= 'z':
		case i == 0 || (c < '0' || c > '9') && strings.IndexByte("_-./", c) < 0:
			return false
		}
	}
	return true
}

// Sort sorts amounts by their names.
func Sort(all []Amount) {
	slices.SortFunc(all, func(a, b Amount) int { return bytes.Compare(a.Name, b.Name) })
}

// A Sum is a sum of amounts times weights. The zero value is an empty sum. It is exact for up to MostNames
// amounts within their bounds, because it is then below 2^107.
type Sum struct{ taken, given wide }

// Add adds n, which may be negative, times a weight in millionths.
func (s *Sum) Add(n int64, weight uint64) {
	if n >= 0 {
		s.taken.addProduct(uint64(n), weight)
	} else {
		s.given.addProduct(uint64(-n), weight)
	}
}

// Tokens returns the sum rounded up to a whole number: a spend is never counted too low, and never too much
// is given back. ok is false beyond engine.MaxN.
func (s *Sum) Tokens() (n int64, ok bool) {
	taken, given := s.taken, s.given
	if taken.less(given) {
		given.subtract(taken)
		n, ok = given.dividedBy(Million)
		return -n, ok
	}
	taken.subtract(given)
	taken.addProduct(1, Million-1)
	return taken.dividedBy(Million)
}

// A wide is a number of 128 bits.
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
