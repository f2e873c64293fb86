package slots

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// TestOf compares slots with those that redis-server 7.0 answers to CLUSTER KEYSLOT.
func TestOf(t *testing.T) {
	for _, tt := range []struct {
		key  string
		want Slot
	}{
		{"", 0}, {"123456789", 12739}, {"foo", 12182}, {"user:1000", 1649},
		{"{user:1000}.following", 1649}, {"{user:1000}.followers", 1649}, {"a{user:1000}b}c", 1649},
		{"foo{}{bar}", 8363}, {"{}foo", 9500}, {"{", 4092}, {"foo{bar", 15278},
	} {
		if got := Of([]byte(tt.key)); got != tt.want {
			t.Errorf("the slot of %q is %d, want %d", tt.key, got, tt.want)
		}
	}
}

// bitwise is crc16 bit by bit.
func bitwise(b []byte) (crc uint16) {
	for _, c := range b {
		crc ^= uint16(c) << 8
		for range 8 {
			top := crc >> 15
			crc = crc<<1 ^ top*polynomial
		}
	}
	return crc
}

func TestCRC(t *testing.T) {
	seed := testwait.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for n := range 200 {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		if got, want := crc16(b), bitwise(b); got != want {
			t.Fatalf("seed %d: the CRC of %d bytes is %#x, want %#x", seed, n, got, want)
		}
	}
}

func TestRun(t *testing.T) {
	if got := All.String(); got != "0-16383" {
		t.Errorf("all slots are %s", got)
	}
}

// BenchmarkOf takes 15 to 20 ns for a key of 22 bytes.
func BenchmarkOf(b *testing.B) {
	for name, key := range map[string][]byte{
		"22": bytes.Repeat([]byte("k"), 22), "tag": []byte("{user:1000}.following"), "300": []byte(strings.Repeat("k", 300)),
	} {
		b.Run("key="+name, func(b *testing.B) {
			for b.Loop() {
				Of(key)
			}
		})
	}
}
