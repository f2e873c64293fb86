package glob

import (
	"strings"
	"testing"
	"time"

	"limitsrv/testwait"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		Fold       Fold
		want       bool
	}{
		{"", "", SameCase, true},
		{"", "a", SameCase, false},
		{"*", "", SameCase, true},
		{"*", "anything", SameCase, true},
		{"**", "", SameCase, true},
		{"a*", "abc", SameCase, true},
		{"a*", "ba", SameCase, false},
		{"*c", "abcabc", SameCase, true},
		{"*c", "abcab", SameCase, false},
		{"a*b*c", "axxbyyc", SameCase, true},
		{"a*b*c", "axxcyyb", SameCase, false},
		{"?", "a", SameCase, true},
		{"?", "", SameCase, false},
		{"h[ae]llo", "hallo", SameCase, true},
		{"h[ae]llo", "hillo", SameCase, false},
		{"h[^e]llo", "hallo", SameCase, true},
		{"h[^e]llo", "hello", SameCase, false},
		{"h[a-c]", "hb", SameCase, true},
		{"h[c-a]", "hb", SameCase, true},
		{"h[a-c]", "hd", SameCase, false},
		{"[\\]]", "]", SameCase, true},
		{"[a-", "a", SameCase, true},
		{"[a-", "-", SameCase, true},
		{"[", "a", SameCase, false},
		{"[^", "a", SameCase, true},
		{"\\*", "*", SameCase, true},
		{"\\*", "a", SameCase, false},
		{"a\\", "a\\", SameCase, true},
		{"MAX*", "maxmemory", SameCase, false},
		{"MAX*", "maxmemory", AnyCase, true},
		{"[M-N]AX", "max", AnyCase, true},
	} {
		if got := Match([]byte(tt.pattern), []byte(tt.s), tt.Fold); got != tt.want {
			t.Errorf("Match(%q, %q, %v) = %v, want %v", tt.pattern, tt.s, tt.Fold, got, tt.want)
		}
	}
}

// Many stars must not take long: an old version of Redis' matcher took exponential time.
func TestMatchIsBounded(t *testing.T) {
	pattern := []byte(strings.Repeat("a*", 1000) + "b")
	s := []byte(strings.Repeat("a", 1000))
	testwait.Within(t, time.Second, "a match with many stars", func() {
		if Match(pattern, s, SameCase) {
			t.Error("it matched")
		}
	})
}
