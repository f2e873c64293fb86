package numbers

import (
	"math"
	"math/bits"
)

// maxDigits bounds the digits of a double.
const maxDigits = 18

// appendShortest appends the digits of a positive double, and returns them with the
// exponent of 10 of the last. They identify the double, and are the fewest that do, except
// for about one double in a thousand. Redis writes the same digits, also for that double.
//
// Source: F. Loitsch, "Printing floating-point numbers quickly and accurately with
// integers", 2010, algorithm Grisu2.
func appendShortest(dst []byte, x float64) (digits []byte, exponent int) {
	const fractionBits, bias = 52, 1075
	var (
		pattern  = math.Float64bits(x)
		fraction = pattern & (1<<fractionBits - 1)
		binary   = int(pattern >> fractionBits)
		below    = uint64(2) // half the distance to the next lower double, in quarters
	)
	switch {
	case binary == 0:
		binary = 1
	case fraction == 0:
		below = 1
		fallthrough
	default:
		fraction |= 1 << fractionBits
	}
	binary -= bias
	// The double and the limits of the numbers that are nearest to it, in quarters.
	shift := bits.LeadingZeros64(4*fraction + 2)
	value, high, low := 4*fraction<<shift, (4*fraction+2)<<shift, (4*fraction-below)<<shift
	power, decimal := powerFor(binary - 2 - shift)
	binary += powerExponent(decimal) - 2 - shift + 64
	value, high, low = scaled(value, power), scaled(high, power)-1, scaled(low, power)+1
	digits, last := appendBetween(dst, high, high-low, high-value, uint(-binary))
	return digits, last - decimal
}

const (
	firstPower, powerStep = -348, 8
	// Numbers are scaled by a power of 10 so that their exponents of 2 are between these.
	minScaled, maxScaled = -60, -32
)

// powers are the first 64 bits, rounded, of 10^firstPower and so on in steps of powerStep.
var powers = [...]uint64{
	0xfa8fd5a0081c0288, 0xbaaee17fa23ebf76, 0x8b16fb203055ac76, 0xcf42894a5dce35ea,
	0x9a6bb0aa55653b2d, 0xe61acf033d1a45df, 0xab70fe17c79ac6ca, 0xff77b1fcbebcdc4f,
	0xbe5691ef416bd60c, 0x8dd01fad907ffc3c, 0xd3515c2831559a83, 0x9d71ac8fada6c9b5,
	0xea9c227723ee8bcb, 0xaecc49914078536d, 0x823c12795db6ce57, 0xc21094364dfb5637,
	0x9096ea6f3848984f, 0xd77485cb25823ac7, 0xa086cfcd97bf97f4, 0xef340a98172aace5,
	0xb23867fb2a35b28e, 0x84c8d4dfd2c63f3b, 0xc5dd44271ad3cdba, 0x936b9fcebb25c996,
	0xdbac6c247d62a584, 0xa3ab66580d5fdaf6, 0xf3e2f893dec3f126, 0xb5b5ada8aaff80b8,
	0x87625f056c7c4a8b, 0xc9bcff6034c13053, 0x964e858c91ba2655, 0xdff9772470297ebd,
	0xa6dfbd9fb8e5b88f, 0xf8a95fcf88747d94, 0xb94470938fa89bcf, 0x8a08f0f8bf0f156b,
	0xcdb02555653131b6, 0x993fe2c6d07b7fac, 0xe45c10c42a2b3b06, 0xaa242499697392d3,
	0xfd87b5f28300ca0e, 0xbce5086492111aeb, 0x8cbccc096f5088cc, 0xd1b71758e219652c,
	0x9c40000000000000, 0xe8d4a51000000000, 0xad78ebc5ac620000, 0x813f3978f8940984,
	0xc097ce7bc90715b3, 0x8f7e32ce7bea5c70, 0xd5d238a4abe98068, 0x9f4f2726179a2245,
	0xed63a231d4c4fb27, 0xb0de65388cc8ada8, 0x83c7088e1aab65db, 0xc45d1df942711d9a,
	0x924d692ca61be758, 0xda01ee641a708dea, 0xa26da3999aef774a, 0xf209787bb47d6b85,
	0xb454e4a179dd1877, 0x865b86925b9bc5c2, 0xc83553c5c8965d3d, 0x952ab45cfa97a0b3,
	0xde469fbd99a05fe3, 0xa59bc234db398c25, 0xf6c69a72a3989f5c, 0xb7dcbf5354e9bece,
	0x88fcf317f22241e2, 0xcc20ce9bd35c78a5, 0x98165af37b2153df, 0xe2a0b5dc971f303a,
	0xa8d9d1535ce3b396, 0xfb9b7cd9a4a7443c, 0xbb764c4ca7a44410, 0x8bab8eefb6409c1a,
	0xd01fef10a657842c, 0x9b10a4e5e9913129, 0xe7109bfba19c0c9d, 0xac2820d9623bf429,
	0x80444b5e7aa7cf85, 0xbf21e44003acdd2d, 0x8e679c2f5e44ff8f, 0xd433179d9c8cb841,
	0x9e19db92b4e31ba9, 0xeb96bf6ebadf77d9, 0xaf87023b9bf0ee6b,
}

// powerExponent returns the exponent of 2 of a power of 10 with 64 bits before the point.
func powerExponent(decimal int) int { return (decimal*1741647)>>19 - 63 }

// powerFor returns the power of 10 that scales numbers with an exponent of 2.
func powerFor(binary int) (power uint64, decimal int) {
	const log2, first = 0.30102999566398114, len(powers)
	i := (int(float64(-float64(binary+first)*log2)) - firstPower) / powerStep
	for {
		decimal = firstPower + i*powerStep
		switch exponent := binary + powerExponent(decimal) + 64; {
		case exponent < minScaled:
			i++
		case exponent > maxScaled:
			i--
		default:
			return powers[i], decimal
		}
	}
}

// scaled returns the first 64 bits of a product, rounded.
func scaled(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi + lo>>63
}

// appendBetween appends the digits of a number of few digits that is less than high, by
// at most width, and as close as possible to high-distance; all have so many bits after
// the point. It returns them with the exponent of 10 of the last.
func appendBetween(dst []byte, high, width, distance uint64, point uint) (digits []byte, last int) {
	var (
		start = len(dst)
		unit  = uint64(1) << point
		whole = high >> point
		rest  = high & (unit - 1)
		power = uint64(1_000_000_000)
	)
	for last = 9; last >= 0; last-- {
		if digit := whole / power; digit > 0 || len(dst) > start {
			dst = append(dst, '0'+byte(digit))
		}
		whole %= power
		if left := whole<<point + rest; left <= width {
			lower(dst, width, left, power<<point, distance)
			return dst, last
		}
		power /= 10
	}
	for ; ; last-- {
		rest, width, distance = rest*10, width*10, distance*10
		if digit := rest >> point; digit > 0 || len(dst) > start {
			dst = append(dst, '0'+byte(digit))
		}
		rest &= unit - 1
		if rest < width {
			lower(dst, width, rest, unit, distance)
			return dst, last
		}
	}
}

// lower decrements the last digit, which is worth step, while the number, which is left
// below the high limit, comes closer to distance below it, and stays within width.
func lower(digits []byte, width, left, step, distance uint64) {
	for left < distance && width-left >= step && (left+step < distance || distance-left > left+step-distance) {
		digits[len(digits)-1]--
		left += step
	}
}
