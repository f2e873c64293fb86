package values

import (
	"math/bits"
	"slices"
)

// A Source is a generator of random bits.
type Source interface{ Uint64() uint64 }

// Pick returns a number from 0 to n-1, all with the same probability. Requires: n > 0.
//
// Source: D. Lemire, "Fast random integer generation in an interval", 2019.
func Pick(r Source, n int) int {
	hi, lo := bits.Mul64(r.Uint64(), uint64(n))
	if lo < uint64(n) {
		for least := -uint64(n) % uint64(n); lo < least; {
			hi, lo = bits.Mul64(r.Uint64(), uint64(n))
		}
	}
	return int(hi)
}

// Ranks appends k different numbers from 0 to n-1 in ascending order, all choices with
// the same probability. Requires: 0 <= k <= n. Cost: O(k log k), or O(k) if k is not far below n.
//
// Source: R. Floyd in J. Bentley, "Programming pearls: a sample of brilliance", 1987.
func Ranks(dst []int, r Source, n, k int) []int {
	const few = 16
	start := len(dst)
	switch {
	case k > few && k > n/64: // a bit for each number
		chosen := make([]uint64, n/64+1)
		choose(r, n, k, func(i int) bool {
			before := chosen[i/64]
			chosen[i/64] |= 1 << (i % 64)
			return before != chosen[i/64]
		})
		dst = slices.Grow(dst, k)
		for i, word := range chosen {
			for ; word != 0; word &= word - 1 {
				dst = append(dst, i*64+bits.TrailingZeros64(word))
			}
		}
		return dst
	case k > few:
		chosen := make(map[int]struct{}, k)
		choose(r, n, k, func(i int) bool {
			if _, had := chosen[i]; had {
				return false
			}
			chosen[i] = struct{}{}
			dst = append(dst, i)
			return true
		})
	default:
		choose(r, n, k, func(i int) bool {
			if slices.Contains(dst[start:], i) {
				return false
			}
			dst = append(dst, i)
			return true
		})
	}
	slices.Sort(dst[start:])
	return dst
}

// choose calls add with k different numbers from 0 to n-1, and with some of them again. add returns
// false for a number that it has had.
func choose(r Source, n, k int, add func(i int) bool) {
	for j := n - k; j < n; j++ {
		if !add(Pick(r, j+1)) {
			add(j)
		}
	}
}
