package pattern

import (
	"fmt"
	"strings"
	"testing"
)

// find returns the first match and its captures, or the error.
func find(subject, pattern string, steps int64) (result string) {
	defer func() {
		if failure := recover(); failure != nil {
			result = fmt.Sprint(failure)
		}
	}()
	m := Matcher{Left: steps, Exceeded: func() { panic("too many steps") }, Fail: func(message string) { panic(message) }}
	m.Init([]byte(subject), []byte(pattern))
	p := 0
	if m.Anchored() {
		p = 1
	}
	for start := range len(subject) + 1 {
		end := m.At(start, p)
		if end < 0 {
			if p == 1 {
				break
			}
			continue
		}
		parts := []string{fmt.Sprintf("%d-%d", start, end)}
		for i := range m.Groups() {
			from, to, isPosition := m.Capture(i, start, end)
			if isPosition {
				parts = append(parts, fmt.Sprint("@", from))
			} else {
				parts = append(parts, subject[from:to])
			}
		}
		return strings.Join(parts, " ")
	}
	return "none"
}

func TestFind(t *testing.T) {
	for _, tt := range []struct{ subject, pattern, want string }{
		{"hello", "l+", "2-4"},
		{"hello", "(h)(.-)o", "0-5 h ell"},
		{"hello", "^ell", "none"},
		{"hello", "x*", "0-0"},
		{"key = value", "(%w+)%s*=%s*(%w+)", "0-11 key value"},
		{"a(b(c)d)e", "%b()", "1-8"},
		{"THE (quick) fox", "%f[%a]%a+%f[%A]", "0-3"},
		{"abab", "(ab)%1", "0-4 ab"},
		{"a1", "()%d()", "1-2 @1 @2"},
		{"]", "[]]", "0-1"},
		{"-", "[a%-]", "0-1"},
		{"b", "[^a]", "0-1"},
		{"a.b", "%.", "1-2"},
		{"a$", "$", "2-2"},
		{"a$b", "a$b", "0-3"},
		{"x\x00y", "%z", "1-2"},
		{"aaa", "a-$", "0-3"},
		{"aXb", "%u", "1-2"},
		{"abc", "b\x00x", "1-2"},
		{"x", "%", "malformed pattern (ends with '%')"},
		{"x", "[a", "malformed pattern (missing ']')"},
		{"x", "%f", "missing '[' after '%f' in pattern"},
		{"x", "%b", "unbalanced pattern"},
		{"x", "%1", "invalid capture index"},
		{"x", "x)", "invalid pattern capture"},
		{"x", "(x", "unfinished capture"},
		{strings.Repeat("a", 40), strings.Repeat("(a", 33), "too many captures"},
		{strings.Repeat("a", 30), strings.Repeat("a?", 30) + strings.Repeat("a", 31), "too many steps"},
	} {
		if got := find(tt.subject, tt.pattern, 1_000_000); got != tt.want {
			t.Errorf("%q in %q: %s, want %s", tt.pattern, tt.subject, got, tt.want)
		}
	}
}

func TestIsPlain(t *testing.T) {
	for pattern, want := range map[string]bool{"": true, "abc": true, "a.b": false, "a-b": false, "a\x00.": true,
		"a]": true, "a[": false} {
		if IsPlain([]byte(pattern)) != want {
			t.Errorf("IsPlain(%q) = %v", pattern, !want)
		}
	}
}
