package commands

import (
	"strings"
	"testing"
	"time"

	"limitsrv/testwait"
)

func TestGlobMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		fold       fold
		want       bool
	}{
		{"", "", sameCase, true},
		{"", "a", sameCase, false},
		{"*", "", sameCase, true},
		{"*", "anything", sameCase, true},
		{"**", "", sameCase, true},
		{"a*", "abc", sameCase, true},
		{"a*", "ba", sameCase, false},
		{"*c", "abcabc", sameCase, true},
		{"*c", "abcab", sameCase, false},
		{"a*b*c", "axxbyyc", sameCase, true},
		{"a*b*c", "axxcyyb", sameCase, false},
		{"?", "a", sameCase, true},
		{"?", "", sameCase, false},
		{"h[ae]llo", "hallo", sameCase, true},
		{"h[ae]llo", "hillo", sameCase, false},
		{"h[^e]llo", "hallo", sameCase, true},
		{"h[^e]llo", "hello", sameCase, false},
		{"h[a-c]", "hb", sameCase, true},
		{"h[c-a]", "hb", sameCase, true},
		{"h[a-c]", "hd", sameCase, false},
		{"[\\]]", "]", sameCase, true},
		{"[a-", "a", sameCase, true},
		{"[a-", "-", sameCase, true},
		{"[", "a", sameCase, false},
		{"[^", "a", sameCase, true},
		{"\\*", "*", sameCase, true},
		{"\\*", "a", sameCase, false},
		{"a\\", "a\\", sameCase, true},
		{"MAX*", "maxmemory", sameCase, false},
		{"MAX*", "maxmemory", anyCase, true},
		{"[M-N]AX", "max", anyCase, true},
	} {
		if got := globMatch([]byte(tt.pattern), []byte(tt.s), tt.fold); got != tt.want {
			t.Errorf("globMatch(%q, %q, %v) = %v, want %v", tt.pattern, tt.s, tt.fold, got, tt.want)
		}
	}
}

// Many stars must not take long: an old version of Redis' matcher took exponential time.
func TestGlobMatchIsBounded(t *testing.T) {
	pattern := []byte(strings.Repeat("a*", 1000) + "b")
	s := []byte(strings.Repeat("a", 1000))
	start := time.Now()
	if globMatch(pattern, s, sameCase) {
		t.Error("it matched")
	}
	if took := time.Since(start); took > testwait.Scaled(time.Second) {
		t.Errorf("took %v", took)
	}
}
