package siphash

import "encoding/binary"

// A Permutation maps the numbers of a given number of bits one to one, and 0 to 0. Without the key,
// results reveal nothing about the mapped numbers, except which of them are equal.
//
// Source: M. Luby and C. Rackoff, "How to construct pseudorandom permutations from pseudorandom
// functions", 1988, with more rounds because numbers are short (J. Patarin, "Security of random
// Feistel schemes with 5 or more rounds", 2004).
type Permutation struct {
	key  Key
	half uint // bits of a half
}

// rounds is the number of rounds of the Feistel network.
const rounds = 8

// NewPermutation returns the permutation of the numbers with this many bits. Requires: bits is even
// and from 2 to 64, and the key has no other use.
func NewPermutation(key Key, bits uint) Permutation { return Permutation{key, bits / 2} }

// Map returns the number that x is mapped to. Bits of x beyond those of p are ignored. Cost: about
// 100 ns; no allocation.
func (p Permutation) Map(x uint64) uint64 { return p.apart(p.encrypt, x) }

// Invert returns the number that Map maps to y.
func (p Permutation) Invert(y uint64) uint64 { return p.apart(p.decrypt, y) }

// apart applies a direction of the network to x, but maps 0 to 0. The number that the network
// maps to 0 gets the image of 0.
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

// mix is the round function of the network.
func (p Permutation) mix(round, half uint64) uint64 {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], round<<56|half)
	return p.key.Sum(b[:]) & p.mask()
}
