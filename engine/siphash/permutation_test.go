package siphash

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// TestPermutation maps all numbers of few bits, and random numbers of more bits.
func TestPermutation(t *testing.T) {
	for _, n := range []uint{2, 4, 16} {
		p, seen := NewPermutation(KeyFor([16]byte{1}, "test"), n), map[uint64]bool{}
		for x := range uint64(1) << n {
			y := p.Map(x)
			if seen[y] || y >= 1<<n || p.Invert(y) != x || (x == 0) != (y == 0) {
				t.Fatalf("of %d bits: %d is mapped to %d, and that back to %d", n, x, y, p.Invert(y))
			}
			seen[y] = true
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []uint{48, 64} {
		p, q := NewPermutation(KeyFor([16]byte{1}, "test"), n), NewPermutation(KeyFor([16]byte{2}, "test"), n)
		mask, flipped := ^uint64(0)>>(64-n), 0
		for range 1000 {
			x := r.Uint64() & mask
			y := p.Map(x)
			if p.Invert(y) != x || y > mask || y == q.Map(x) {
				t.Fatalf("of %d bits: %x is mapped to %x, and that back to %x", n, x, y, p.Invert(y))
			}
			flipped += bits.OnesCount64(y ^ p.Map(x+1&mask))
		}
		if flipped < 450*int(n) || flipped > 550*int(n) {
			t.Errorf("of %d bits: the next number differs in %d bits of 1000 images, want about %d", n, flipped, 500*n)
		}
	}
}

// TestKeyFor compares with HKDF of openssl:
//
//	openssl kdf -keylen 16 -kdfopt digest:SHA256 -kdfopt hexkey:000102030405060708090a0b0c0d0e0f \
//	  -kdfopt "info:limitsrv table of keys" HKDF
func TestKeyFor(t *testing.T) {
	var seed [16]byte
	for i := range seed {
		seed[i] = byte(i)
	}
	want := KeyOf([16]byte{0x2e, 0x2b, 0x42, 0xf5, 0xc4, 0xaf, 0x9b, 0x80, 0xef, 0xc2, 0xce, 0xef, 0x94, 0x87, 0xf0, 0x32})
	if got := KeyFor(seed, "table of keys"); got != want {
		t.Errorf("got %x, want %x", got, want)
	}
	if KeyFor(seed, "a") == KeyFor(seed, "b") || KeyFor(seed, "a") == KeyOf(seed) {
		t.Error("two purposes have the same key")
	}
}
