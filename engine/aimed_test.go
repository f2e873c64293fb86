package engine_test

import (
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"limitsrv/engine/siphash"
)

// aimedSeed is the Seed of the engines that aimedKeys are for.
var aimedSeed = [16]byte{5}

// aimedKeys returns groups of eight long keys. In an engine with aimedSeed the hashes of a group
// share many bits: five keys of a group do not fit into a single page. Only a test, which knows
// the seed, can choose them.
var aimedKeys = sync.OnceValue(func() (groups [][][]byte) {
	const (
		candidates = 1 << 17
		together   = 8
		wanted     = 12
	)
	type candidate struct {
		hash uint64
		n    int
	}
	var (
		key = siphash.KeyFor(aimedSeed, "table of keys")
		all = make([]candidate, candidates)
	)
	for i := range all {
		all[i] = candidate{key.Sum(aimedKey(i)), i}
	}
	slices.SortFunc(all, func(a, b candidate) int { return compareHashes(a.hash, b.hash) })
	shared := func(i int) int { return bits.LeadingZeros64(all[i].hash ^ all[i+together-1].hash) }
	var starts []int
	for i := range len(all) - together {
		starts = append(starts, i)
	}
	slices.SortStableFunc(starts, func(i, j int) int { return shared(j) - shared(i) })
	taken := make([]bool, len(all))
	for _, at := range starts {
		if len(groups) == wanted {
			break
		}
		if taken[at] || taken[at+together-1] {
			continue
		}
		var group [][]byte
		for i := at; i < at+together; i++ {
			taken[i] = true
			group = append(group, aimedKey(all[i].n))
		}
		groups = append(groups, group)
	}
	return groups
})

func compareHashes(a, b uint64) int {
	if a < b {
		return -1
	}
	return 1
}

// aimedKey returns the n-th candidate, of 900 bytes.
func aimedKey(n int) []byte { return fmt.Appendf(nil, "%0900d", n) }
