package engine

// Random is a generator of pseudo-random numbers. Equal seeds give equal numbers, on any
// processor and in any version of this program.
//
// Source: G. L. Steele et al., "Fast splittable pseudorandom number generators", OOPSLA
// 2014 (SplitMix64).
type Random struct{ state uint64 }

// Uint64 returns the next number.
func (r *Random) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	x := r.state
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
