package numbers

import (
	"math/big"
	"math/bits"
	"strconv"
)

// An Extended is a number in the extended precision of x86 processors, mantissa times
// 2^exponent with 64 bits of mantissa. Redis computes INCRBYFLOAT and HINCRBYFLOAT with it.
// The zero value is 0. Arithmetic is rounded to the nearest, ties to even, on any
// processor.
type Extended struct {
	mantissa uint64 // the first bit is set, except in 0
	exponent int
	negative bool
	infinite bool
	nan      bool
}

const (
	// MaxExtendedBytes bounds the texts of extended numbers: a text must be shorter.
	MaxExtendedBytes = 5 << 10
	// Numbers from 2^maxBinary on are infinite, those below 2^minBinary are 0.
	minBinary, maxBinary = -16445, 16384
	// Decimal exponents of finite numbers other than 0 are between these.
	minDecimal, maxDecimal = -4951, 4932
)

// ParseExtended reads a number that is the whole text: "inf" is accepted; "nan", a number
// beyond the range, and white space are not. Cost: more than 19 digits, or an exponent
// beyond 27, allocate memory.
func ParseExtended(b []byte) (x Extended, ok bool) {
	if len(b) >= MaxExtendedBytes {
		return x, false
	}
	s := scan(b)
	if s.form == noNumber || s.form == notANumber || s.length != len(b) {
		return x, false
	}
	switch s.form {
	case infinity:
		x.infinite = true
	case hexadecimal:
		x = s.fromHex()
	default:
		x = s.fromDecimal()
	}
	x.negative = s.negative
	tooLarge := x.infinite && s.form != infinity
	tooSmall := x.mantissa == 0 && !x.infinite && !s.isZero()
	return x, !tooLarge && !tooSmall
}

// fromHex returns a hexadecimal number without its sign.
func (s *scanned) fromHex() Extended {
	var (
		hi, lo   uint64
		exponent = s.exponent
		point    = false
	)
	for _, c := range s.digits {
		if c == '.' {
			point = true
			continue
		}
		d := uint64(c - '0')
		if c > '9' {
			d = uint64(c|0x20-'a') + 10
		}
		if hi>>60 == 0 {
			hi, lo = hi<<4|lo>>60, lo<<4|d
		} else {
			exponent += 4
			if d != 0 {
				lo |= 1
			}
		}
		if point {
			exponent -= 4
		}
	}
	return rounded(hi, lo, exponent)
}

// fromDecimal returns a decimal number without its sign.
func (s *scanned) fromDecimal() Extended {
	const maxExact, maxPower = 19, 27 // 10^19 < 2^64, 5^27 < 2^64
	var (
		n        uint64
		digits   = 0 // after leading zeros
		exponent = s.exponent
		point    = false
	)
	for _, c := range s.digits {
		if c == '.' {
			point = true
			continue
		}
		if digits > 0 || c != '0' {
			digits++
		}
		n = n*10 + uint64(c-'0') // not used if it overflows
		if point {
			exponent--
		}
	}
	switch {
	case digits == 0:
		return Extended{}
	case exponent+digits-1 > maxDecimal:
		return Extended{infinite: true}
	case exponent+digits-1 < minDecimal:
		return Extended{}
	case digits > maxExact || exponent > maxPower || exponent < -maxPower:
		return s.fromLongDecimal(exponent)
	case exponent >= 0:
		hi, lo := bits.Mul64(n, power5(exponent))
		return rounded(hi, lo, exponent)
	}
	return quotient(n, power5(-exponent), exponent)
}

// quotient returns n / d times 2^exponent. Requires: neither is 0.
func quotient(n, d uint64, exponent int) Extended {
	up, down := bits.LeadingZeros64(n), bits.LeadingZeros64(d)
	n, d = n<<up, d<<down
	exponent += down - up - 64
	hi, lo := n, uint64(0)
	if hi >= d {
		hi, lo = n>>1, n<<63
		exponent++
	}
	q, rest := bits.Div64(hi, lo, d)
	x := Extended{mantissa: q, exponent: exponent}
	if half := d - rest; rest > half || rest == half && q&1 == 1 {
		x.increment()
	}
	return x
}

// fromLongDecimal returns a number with any number of digits.
func (s *scanned) fromLongDecimal(exponent int) Extended {
	text := make([]byte, 0, len(s.digits))
	for _, c := range s.digits {
		if c != '.' {
			text = append(text, c)
		}
	}
	n, _ := new(big.Int).SetString(string(text), 10)
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil)
	f := new(big.Float).SetPrec(64).SetMode(big.ToNearestEven)
	if exponent >= 0 {
		f.SetInt(n.Mul(n, power))
	} else { // both are exact
		f.Quo(new(big.Float).SetInt(n), new(big.Float).SetInt(power))
	}
	mantissa := new(big.Float)
	binary := f.MantExp(mantissa) - 64
	u, _ := mantissa.SetMantExp(mantissa, 64).Uint64()
	return Extended{mantissa: u, exponent: binary}.limited()
}

// rounded returns the 128 bits hi, lo times 2^exponent.
func rounded(hi, lo uint64, exponent int) Extended {
	if hi == 0 {
		if lo == 0 {
			return Extended{}
		}
		shift := bits.LeadingZeros64(lo)
		return Extended{mantissa: lo << shift, exponent: exponent - shift}.limited()
	}
	shift := bits.LeadingZeros64(hi)
	x := Extended{mantissa: hi<<shift | lo>>(64-shift), exponent: exponent + 64 - shift}
	if rest := lo << shift; rest > 1<<63 || rest == 1<<63 && x.mantissa&1 == 1 {
		x.increment()
	}
	return x.limited()
}

// increment adds 1 to the mantissa.
func (x *Extended) increment() {
	if x.mantissa++; x.mantissa == 0 {
		x.mantissa = 1 << 63
		x.exponent++
	}
}

// limited returns x, infinite or 0 if it is beyond the range.
func (x Extended) limited() Extended {
	switch {
	case x.exponent+64 > maxBinary:
		return Extended{infinite: true}
	case x.exponent+63 < minBinary:
		return Extended{}
	}
	return x
}

// Work returns the additional work to parse and append x, in visits to an element of a collection.
// Large exponents need long arithmetic.
func (x Extended) Work() int {
	const usual, perElement = 128, 8
	return max(0, max(x.exponent, -x.exponent)-usual) / perElement
}

// Finite reports whether x is neither infinite nor the sum of opposite infinities.
func (x Extended) Finite() bool { return !x.infinite && !x.nan }

// Add returns x + y.
func (x Extended) Add(y Extended) Extended {
	switch {
	case x.nan || y.nan || x.infinite && y.infinite && x.negative != y.negative:
		return Extended{nan: true}
	case x.infinite || y.mantissa == 0 && !y.infinite && (x.mantissa != 0 || !x.negative):
		return x
	case y.infinite || x.mantissa == 0:
		return y
	}
	if x.exponent < y.exponent || x.exponent == y.exponent && x.mantissa < y.mantissa {
		x, y = y, x
	}
	hi, lo := x.mantissa>>1, x.mantissa<<63
	hi2, lo2 := shiftedRight(y.mantissa>>1, y.mantissa<<63, x.exponent-y.exponent)
	var carry uint64
	if x.negative == y.negative {
		lo, carry = bits.Add64(lo, lo2, 0)
		hi, _ = bits.Add64(hi, hi2, carry)
	} else {
		lo, carry = bits.Sub64(lo, lo2, 0)
		hi, _ = bits.Sub64(hi, hi2, carry)
	}
	sum := rounded(hi, lo, x.exponent-63)
	sum.negative = x.negative && (sum.mantissa != 0 || sum.infinite)
	return sum
}

// shiftedRight returns the 128 bits shifted by n; the last bit is set if a set bit is
// lost, so that a sum is rounded correctly.
func shiftedRight(hi, lo uint64, n int) (uint64, uint64) {
	var lost uint64
	if n >= 128 {
		return 0, min(hi|lo, 1)
	}
	if n >= 64 {
		hi, lo, lost, n = 0, hi, lo, n-64
	}
	if n > 0 {
		lost |= lo << (64 - n)
		hi, lo = hi>>n, hi<<(64-n)|lo>>n
	}
	return hi, lo | min(lost, 1)
}

// AppendHuman appends x, which must be finite, as INCRBYFLOAT stores it: without an
// exponent, rounded to 17 digits after the point, without zeros at the end.
func (x Extended) AppendHuman(dst []byte) []byte {
	const decimals, unit = 17, 100_000_000_000_000_000
	if x.exponent > 0 {
		n := new(big.Int).SetUint64(x.mantissa)
		if x.negative {
			n.Neg(n)
		}
		return n.Lsh(n, uint(x.exponent)).Append(dst, 10)
	}
	var (
		shift    = uint(-x.exponent)
		whole    = x.mantissa >> shift // 0 if shift >= 64
		fraction = x.mantissa - whole<<shift
		hi, lo   = bits.Mul64(fraction, unit)
		part     uint64
	)
	if shift < 128 {
		part = shiftedToNearest(hi, lo, shift)
	}
	if part == unit {
		whole, part = whole+1, 0
	}
	if x.negative && (whole != 0 || part != 0) {
		dst = append(dst, '-')
	}
	dst = strconv.AppendUint(dst, whole, 10)
	if part == 0 {
		return dst
	}
	text := strconv.AppendUint(dst, unit+part, 10)[len(dst):] // 1, then the decimals
	text[0] = '.'
	for text[len(text)-1] == '0' {
		text = text[:len(text)-1]
	}
	return append(dst, text...)
}

// shiftedToNearest returns the 128 bits shifted right by n < 128, rounded to the nearest,
// ties to even. Requires: the result fits.
func shiftedToNearest(hi, lo uint64, n uint) uint64 {
	if n > 64 {
		return roundedUp(hi>>(n-64), hi<<(128-n), lo != 0)
	}
	return roundedUp(hi<<(64-n)|lo>>n, lo<<(64-n), false)
}

// roundedUp returns n plus rest / 2^64 rounded; more reports further bits after rest.
func roundedUp(n, rest uint64, more bool) uint64 {
	if rest > 1<<63 || rest == 1<<63 && (more || n&1 == 1) {
		n++
	}
	return n
}

func power5(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 5
	}
	return p
}
