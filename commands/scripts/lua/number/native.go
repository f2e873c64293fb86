package number

import "math"

// NativePow, NativeLog and NativeLog10 compute like package math on this processor. The first
// version used package math, and replays of its logs must get the same results.
func NativePow(a, b float64) float64 { return signedPow(a, b, math.Pow(a, b)) }

// NativeLog is math.Log, but scales subnormal numbers, because math.Log is wrong for them on
// amd64 (Go 1.26).
func NativeLog(x float64) float64 {
	if isSubnormal(x) {
		return math.Log(x*scale) - scaleBits*math.Ln2
	}
	return math.Log(x)
}

// NativeLog10 is the logarithm to base 10, computed from NativeLog.
func NativeLog10(x float64) float64 {
	if isSubnormal(x) {
		return math.Log10(x*scale) - scaleBits*(math.Ln2/math.Ln10)
	}
	return math.Log10(x)
}

func isSubnormal(x float64) bool { return x > 0 && x < 0x1p-1022 }

// scale makes a subnormal number normal.
const (
	scaleBits = 54
	scale     = 1 << scaleBits
)
