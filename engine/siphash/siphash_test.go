package siphash

import "testing"

// TestSum compares with the hashes of Rust's standard library (DefaultHasher,
// SipHash-1-3 under a key of zeros) of the bytes 00, 01, ... of some lengths.
func TestSum(t *testing.T) {
	var bytes [64]byte
	for i := range bytes {
		bytes[i] = byte(i)
	}
	for _, tt := range []struct {
		n    int
		want uint64
	}{
		{0, 0xd1fba762150c532c},
		{1, 0x68a914128e01e473},
		{7, 0x2f098ab0c751325a},
		{8, 0xead411e67ebe2eea},
		{9, 0x75927f9d95124362},
		{15, 0xf30eb725bb91c9ea},
		{16, 0x8972188433a5c5b7},
		{22, 0xf8aeb1066236ccfe},
		{63, 0x385d3e39e5f37359},
	} {
		if got := KeyOf([16]byte{}).Sum(bytes[:tt.n]); got != tt.want {
			t.Errorf("sum of %d bytes\n got %x\nwant %x", tt.n, got, tt.want)
		}
	}
}
