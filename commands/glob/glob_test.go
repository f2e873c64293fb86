package glob

import (
	"math/rand"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, s string
		fold       Fold
		want       bool
	}{
		{"", "", SameCase, true},
		{"", "a", SameCase, false},
		{"*", "", SameCase, true},
		{"*", "anything", SameCase, true},
		{"**", "", SameCase, false}, // as in Redis
		{"**", "a", SameCase, true},
		{"a*", "abc", SameCase, true},
		{"a*", "ba", SameCase, false},
		{"*c", "abcabc", SameCase, true},
		{"*c", "abcab", SameCase, false},
		{"a*b*c", "axxbyyc", SameCase, true},
		{"a*b*c", "axxcyyb", SameCase, false},
		{"ab*ba", "aba", SameCase, false},
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
		{"[\\M]AX", "max", AnyCase, false}, // as in Redis
		{"[a-Z]", "m", AnyCase, false},     // as in Redis
		{"[^m]", "M", AnyCase, false},
	} {
		if got := Compile([]byte(tt.pattern), tt.fold).Match([]byte(tt.s)); got != tt.want {
			t.Errorf("pattern %q, text %q, any case %v: %v, want %v", tt.pattern, tt.s, tt.fold, got, tt.want)
		}
	}
}

// model matches as the definition of patterns says, without regard to cost.
func model(pattern, s []byte, f Fold) bool {
	if len(pattern) == 0 || len(s) == 0 {
		return len(pattern) == len(s)
	}
	if pattern[0] == '*' {
		for from := 0; from <= len(s); from++ {
			if rest := pattern[1:]; model(rest, s[from:], f) || from == len(s) && strings.Trim(string(rest), "*") == "" {
				return true
			}
		}
		return false
	}
	rest, ok := modelOne(pattern, s[0], f)
	return ok && (model(rest, s[1:], f) || len(s) == 1 && strings.Trim(string(rest), "*") == "")
}

// modelOne matches a byte with the first element of a pattern, and returns the rest.
func modelOne(pattern []byte, c byte, f Fold) (rest []byte, ok bool) {
	same := func(a, b byte) bool { return a == b || f == AnyCase && strings.EqualFold(string(a), string(b)) }
	switch {
	case pattern[0] == '?':
		return pattern[1:], true
	case pattern[0] == '\\' && len(pattern) > 1:
		return pattern[2:], same(pattern[1], c)
	case pattern[0] != '[':
		return pattern[1:], same(pattern[0], c)
	}
	rest = pattern[1:]
	not := len(rest) > 0 && rest[0] == '^'
	if not {
		rest = rest[1:]
	}
	for len(rest) > 0 && rest[0] != ']' {
		switch {
		case rest[0] == '\\' && len(rest) > 1:
			ok = ok || rest[1] == c
			rest = rest[2:]
		case len(rest) > 2 && rest[1] == '-':
			low, high := min(rest[0], rest[2]), max(rest[0], rest[2])
			ok = ok || f.lower(low) <= f.lower(c) && f.lower(c) <= f.lower(high)
			rest = rest[3:]
		default:
			ok = ok || same(rest[0], c)
			rest = rest[1:]
		}
	}
	if len(rest) > 0 {
		rest = rest[1:]
	}
	return rest, ok != not
}

// randomText returns a text of up to most of some bytes.
func randomText(r *rand.Rand, from string, most int) []byte {
	b := make([]byte, r.Intn(most+1))
	for i := range b {
		b[i] = from[r.Intn(len(from))]
	}
	return b
}

// TestMatchLikeModel compares with the model. Repetitions make texts long enough for the search
// that keeps bits.
func TestMatchLikeModel(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 300_000 {
		pattern, s, f := randomText(r, "aAb*?[]^-\\", 9), randomText(r, "aAb]-\\", 7), Fold(r.Intn(2) == 0)
		if got, want := Compile(pattern, f).Match(s), string(pattern) == "*" || model(pattern, s, f); got != want {
			t.Fatalf("pattern %q, text %q, any case %v: %v, want %v", pattern, s, f, got, want)
		}
	}
	for range 300 {
		middle := strings.Repeat(string(randomText(r, "ab?", 3))+"[ab]", 1+r.Intn(60))
		pattern := []byte("*" + middle + "*")
		s := []byte(strings.Repeat(string(randomText(r, "ab", 5))+"a", 1+r.Intn(900)))
		got, want := Compile(pattern, SameCase).Match(s), false
		for at := 0; at <= len(s) && !want; at++ {
			if p := Compile([]byte(middle+"*"), SameCase); len(s) > at {
				want = p.Match(s[at:])
			}
		}
		if got != want {
			t.Fatalf("pattern %q, text %q: %v, want %v", pattern, s, got, want)
		}
	}
}

// TestSearchLong compares the two searches.
func TestSearchLong(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	found := 0
	for range 2000 {
		m := NewMatcher([]byte("*"+strings.Repeat("[ab]?", r.Intn(70))+string(randomText(r, "ab?", 8))+"[a]*"), SameCase)
		s := append(randomText(r, "ab", 300), randomText(r, "abc", 100)...)
		g := &m.segments[1]
		want := -1
		for at := 0; at+g.len() <= len(s) && want < 0; at++ {
			if m.matchAt(g, s[at:]) {
				want = at
			}
		}
		if got := m.searchLong(1, s); got != want {
			t.Fatalf("%d elements in %q: at %d, want %d", g.len(), s, got, want)
		}
		if want >= 0 {
			found++
		}
	}
	if found < 200 {
		t.Errorf("%d of 2000 were found", found)
	}
}

// TestWorkIsLinear: the steps for a long text are few for each byte, for any pattern.
func TestWorkIsLinear(t *testing.T) {
	for _, pattern := range []string{
		strings.Repeat("*a", MaxBytes/2), strings.Repeat("a", MaxBytes-1) + "*", "*" + strings.Repeat("?", MaxBytes-2) + "*",
		"*[" + strings.Repeat("b", MaxBytes-3) + "]", strings.Repeat("[a]", MaxBytes/3),
		strings.Repeat("*[ab]", MaxBytes/5) + "b",
	} {
		if work := Compile([]byte(pattern), SameCase).Work(1 << 20); work > MaxBytes/64<<20+MaxBytes {
			t.Errorf("%.20s: %d steps", pattern, work)
		}
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	p, s := Compile([]byte("user:*:[0-9]?*"), SameCase), []byte("user:someone:12")
	if n := testing.AllocsPerRun(100, func() { p.Match(s) }); n > 0 {
		t.Errorf("%.1f allocations", n)
	}
}
