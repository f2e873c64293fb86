package scripts

import "testing"

// TestForgetWords checks that a machine keeps room for few words only, and none of them.
func TestForgetWords(t *testing.T) {
	m := &machine{words: [][]byte{[]byte("GET"), []byte("key")}}
	if m.forget(); cap(m.words) != 2 || m.words[0] != nil || m.words[1] != nil {
		t.Errorf("%d words have room, and are %q; want 2, without text", cap(m.words), m.words)
	}
	m.words = make([][]byte, maxKeptWords+1)
	if m.forget(); m.words != nil {
		t.Errorf("%d words have room, want none beyond %d", cap(m.words), maxKeptWords)
	}
}
