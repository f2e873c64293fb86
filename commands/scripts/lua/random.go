package lua

// The generator of Redis: the linear congruential generator of 48 bits that C calls
// lrand48.
const (
	multiplier = 0x5DEECE66D
	increment  = 0xB
	lowest16   = 0x330E
	mask48     = 1<<48 - 1
)

// Seed begins a sequence of random numbers, which is the same on all machines.
func (st *State) Seed(seed int32) { st.random, st.seeder = uint64(uint32(seed))<<16|lowest16, nil }

// A Seeder gives seeds of random numbers.
type Seeder interface{ Seed() int32 }

// SeedLate has the first Random of the run ask by for a seed, unless Seed is called before.
func (st *State) SeedLate(by Seeder) { st.seeder = by }

// Random returns a number from 0 to 2^31-1.
func (st *State) Random() int32 {
	if st.seeder != nil {
		st.Seed(st.seeder.Seed())
	}
	st.random = (st.random*multiplier + increment) & mask48
	return int32(st.random >> 17)
}
