package scripts

import (
	"testing"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/value"
)

// TestForgetWords checks that a machine keeps room for few words only, and no words.
func TestForgetWords(t *testing.T) {
	words := func(n int) (args []value.Value) {
		for range n {
			args = append(args, value.OfString(value.NewString("word")))
		}
		return args
	}
	m := &machine{st: lua.NewState(host().env)}
	m.take(words(3))
	m.take(words(1))
	room := m.words[:3]
	if string(room[2]) != "word" {
		t.Fatalf("the third word is %q, want that of the call before", room[2])
	}
	if m.forget(); &m.words[0] != &room[0] || room[0] != nil || room[1] != nil || room[2] != nil {
		t.Errorf("the words are %q; want the same room without text", room)
	}
	m.take(words(maxKeptWords + 1))
	if m.forget(); m.words != nil {
		t.Errorf("%d words have room, want none beyond %d", cap(m.words), maxKeptWords)
	}
}
