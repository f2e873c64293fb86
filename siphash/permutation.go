package siphash

import "encoding/binary"

// A Permutation maps the numbers of some bits one to one, and 0 to itself. Without its key, the
// number that another is mapped to tells nothing except whether two numbers are equal.
//
// Source: M. Luby and C. Rackoff, "How to construct pseudorandom permutations from pseudorandom
// functions", 1988, with more rounds because numbers are short (J. Patarin, "Security of random
// Feistel schemes with 5 or more rounds", 2004).
type Permutation struct {
	key  Key
	half uint // bits of a half
}

// rounds are those of the Feistel network.
const rounds = 8

// NewPermutation returns the permutation of the numbers of so many bits, which must be even and
// from 2 to 64, under a key of its own.
func NewPermutation(key Key, bits uint) Permutation { return Permutation{key, bits / 2} }

// Map returns the number that x is mapped to. Bits of x beyond those of p are ignored. Cost: about
// 100 ns; no allocation.
func (p Permutation) Map(x uint64) uint64 { return p.apart(p.encrypt, x) }

// Invert returns the number that is mapped to y, as Map does.
func (p Permutation) Invert(y uint64) uint64 { return p.apart(p.decrypt, y) }

// apart applies one direction of the network to a number, so that 0 is mapped to itself: the number
// of which the image would be 0 has the image of 0.
func (p Permutation) apart(direction func(uint64) uint64, x uint64) uint64 {
	if x &= 1<<(2*p.half) - 1; x == 0 {
		return 0
	}
	if y := direction(x); y != 0 {
		return y
	}
	return direction(0)
}

func (p Permutation) encrypt(x uint64) uint64 {
	left, right := x>>p.half, x&p.mask()
	for round := range uint64(rounds) {
		left, right = right, left^p.mix(round, right)
	}
	return left<<p.half | right
}

func (p Permutation) decrypt(x uint64) uint64 {
	left, right := x>>p.half, x&p.mask()
	for round := uint64(rounds); round > 0; round-- {
		left, right = right^p.mix(round-1, left), left
	}
	return left<<p.half | right
}

func (p Permutation) mask() uint64 { return 1<<p.half - 1 }

// mix is the function of a round on one half.
func (p Permutation) mix(round, half uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], round<<56|half)
	return p.key.Sum(b[:]) & p.mask()
}
