package engine

import (
	"encoding/binary"
	"math/bits"
)

// effects is a checksum of the effects of a call: of its first key, its answer, and the
// records and strings that it has written. It depends on nothing that may differ between
// engines with equal seeds: neither on the places of records and tails, nor on keys that
// expired and were forgotten. Cost: about a nanosecond for each of these.
type effects uint64

// Odd numbers with many ones and zeros, so that small words differ in many bits.
const (
	effectsA = 0x9e3779b97f4a7c15
	effectsB = 0xd1b54a32d192ed03
)

// add adds two words.
func (x *effects) add(a, b uint64) {
	hi, lo := bits.Mul64(a^effectsA, b^effectsB)
	*x = effects(bits.RotateLeft64(uint64(*x), 23) + (hi ^ lo))
}

// addBytes adds bytes and their number.
func (x *effects) addBytes(b []byte) {
	length := uint64(len(b))
	for len(b) > 16 {
		x.add(binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]))
		b = b[16:]
	}
	var first, last uint64 // of the rest; they may overlap
	switch n := len(b); {
	case n >= 8:
		first, last = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:])
	case n >= 4:
		first, last = uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	case n > 0:
		first, last = uint64(b[0])<<8|uint64(b[n-1]), uint64(b[n/2])
	}
	x.add(first^length<<56, last)
}

// addCell adds a record that was written, without its tail: of a collection its expiry and
// the number of its elements.
func (x *effects) addCell(h uint64, c *cell) {
	x.add(h, uint64(c.params.Alg))
	switch a := c.alg(); {
	case c.params.Alg == Blob:
		x.add(c.state[0], c.state[2])
	case c.past.held != 0:
		if x.add(uint64(c.holds.len()), 0); a.tail == nil {
			x.add(c.state[0], c.state[1])
		}
	case c.params.Alg.IsPlain() && a.tail != nil:
		x.add(c.state[0], uint64(c.head().Count))
	case a.tail == nil:
		x.add(c.state[0], c.state[1])
		if a.words > 2 {
			x.add(c.state[2], c.state[3])
		}
	}
}

// addNumber is addCell for an INT.
func (x *effects) addNumber(h uint64, expiry, value int64) {
	x.add(h, uint64(Int))
	x.add(uint64(expiry), uint64(value))
}

// dropped is added for a key that was deleted.
const dropped = 1 << 32

// finish adds the key and the answer of a call, and returns the sum.
func (x *effects) finish(h uint64, answer []byte, command uint16) uint64 {
	x.addBytes(answer)
	x.add(h, uint64(command))
	return uint64(*x)
}
