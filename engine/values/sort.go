package values

import "slices"

// digitBits is the number of key bits that a pass of sortByHash distributes by.
const digitBits = 11

// sortByHash sorts by compare, which compares hashes first. The result may be in other memory. Two
// passes by the highest bits of the hashes leave few comparisons, because hashes are evenly
// distributed.
func sortByHash[T any](all []T, hash func(*T) uint64, compare func(a, b T) int) []T {
	if len(all) <= 1<<digitBits || slices.IsSortedFunc(all, compare) {
		slices.SortFunc(all, compare)
		return all
	}
	const least = 64 - 2*digitBits
	other := make([]T, len(all))
	for shift := least; shift < 64; shift += digitBits {
		distribute(other, all, hash, shift)
		all, other = other, all
	}
	for from, to := 0, 1; from < len(all); from, to = to, to+1 {
		for to < len(all) && hash(&all[to])>>least == hash(&all[from])>>least {
			to++
		}
		if to-from > 1 {
			slices.SortFunc(all[from:to], compare)
		}
	}
	return all
}

// distribute copies all to dst, sorted by the digitBits bits of the hashes from bit shift on. The
// sort is stable.
func distribute[T any](dst, all []T, hash func(*T) uint64, shift int) {
	var next [1<<digitBits + 1]int
	for i := range all {
		next[hash(&all[i])>>shift&(1<<digitBits-1)+1]++
	}
	for i := 1; i < len(next); i++ {
		next[i] += next[i-1]
	}
	for i := range all {
		at := &next[hash(&all[i])>>shift&(1<<digitBits-1)]
		dst[*at] = all[i]
		*at++
	}
}
