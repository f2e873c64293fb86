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
	switch {
	case k > few && k > n/64:
		return manyRanks(dst, r, n, k)
	case k > few:
		return someRanks(dst, r, n, k)
	}
	start := len(dst)
	for j := n - k; j < n; j++ {
		i := Pick(r, j+1)
		if slices.Contains(dst[start:], i) {
			i = j
		}
		dst = append(dst, i)
	}
	slices.Sort(dst[start:])
	return dst
}

// someRanks is Ranks with a map of the chosen numbers.
func someRanks(dst []int, r Source, n, k int) []int {
	start, chosen := len(dst), make(map[int]struct{}, k)
	for j := n - k; j < n; j++ {
		i := Pick(r, j+1)
		if _, taken := chosen[i]; taken {
			i = j
		}
		chosen[i] = struct{}{}
		dst = append(dst, i)
	}
	slices.Sort(dst[start:])
	return dst
}

// manyRanks is Ranks with a bit for each number.
func manyRanks(dst []int, r Source, n, k int) []int {
	dst, chosen := slices.Grow(dst, k), make([]uint64, n/64+1)
	for j := n - k; j < n; j++ {
		i := Pick(r, j+1)
		if chosen[i/64]>>(i%64)&1 != 0 {
			i = j
		}
		chosen[i/64] |= 1 << (i % 64)
	}
	for i, word := range chosen {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, i*64+bits.TrailingZeros64(word))
		}
	}
	return dst
}
