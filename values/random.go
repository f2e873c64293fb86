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
// the same probability. Requires: 0 <= k <= n. Cost: O(k log k).
//
// Source: R. Floyd in J. Bentley, "Programming pearls: a sample of brilliance", 1987.
func Ranks(dst []int, r Source, n, k int) []int {
	const few = 16
	var (
		start  = len(dst)
		chosen map[int]struct{}
	)
	if k > few {
		chosen = make(map[int]struct{}, k)
	}
	for j := n - k; j < n; j++ {
		i := Pick(r, j+1)
		taken := false
		if chosen == nil {
			taken = slices.Contains(dst[start:], i)
		} else {
			_, taken = chosen[i]
		}
		if taken {
			i = j
		}
		if chosen != nil {
			chosen[i] = struct{}{}
		}
		dst = append(dst, i)
	}
	slices.Sort(dst[start:])
	return dst
}
