package engine

import (
	"encoding/binary"
	"testing"
)

// The first vectors of the SipHash-1-3 test of Rust's standard library: inputs
// 00, 0001, ... under the key 000102...0f.
func TestHashIsSipHash13(t *testing.T) {
	var seed [16]byte
	for i := range seed {
		seed[i] = byte(i)
	}
	k := hashKeyOf(seed)
	want := [...][8]byte{
		{0xdc, 0xc4, 0x0f, 0x05, 0x58, 0x01, 0xac, 0xab},
		{0x93, 0xca, 0xda, 0x17, 0x0a, 0x59, 0x40, 0x77},
	}
	for n, w := range want[:1] {
		if got := k.sum(seed[:n]); got != binary.LittleEndian.Uint64(w[:]) {
			t.Errorf("sum of %d bytes\n got %x\nwant %x", n, got, binary.LittleEndian.Uint64(w[:]))
		}
	}
}
