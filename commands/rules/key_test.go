package rules

import (
	"math/rand/v2"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// TestAppendValue compares appendValue with appendEscaped, on values of plain bytes with one other
// byte at each place.
func TestAppendValue(t *testing.T) {
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	plain := 0
	for size := range 40 {
		value := make([]byte, size)
		for c := range 256 {
			for i := range value {
				value[i] = "aZ09/-._:@ \x80\xff"[random.IntN(13)]
			}
			if isPlain(value) {
				plain++
			}
			if size > 0 {
				value[random.IntN(size)] = byte(c)
			}
			if got, want := string(appendValue(nil, value)), string(appendEscaped(nil, value)); got != want {
				t.Fatalf("seed %d: appendValue(%q) = %q, want %q", seed, value, got, want)
			}
		}
	}
	if plain != 40*256 {
		t.Errorf("seed %d: %d values of bytes that are not escaped were plain, want %d", seed, plain, 40*256)
	}
}
