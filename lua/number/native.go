package number

import "math"

// NativePow, NativeLog and NativeLog10 are as package math computes them on this processor. Runs
// of the first version computed so, and logs must repeat them.
func NativePow(a, b float64) float64 { return signedPow(a, b, math.Pow(a, b)) }

// NativeLog scales subnormal numbers, for which the logarithm of Go is wrong on amd64 (Go 1.26).
func NativeLog(x float64) float64 {
	if isSubnormal(x) {
		return math.Log(x*scale) - scaleBits*math.Ln2
	}
	return math.Log(x)
}

// NativeLog10 is the logarithm of base 10.
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
