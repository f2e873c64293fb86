package checks

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/rules"
	"limitsrv/engine"
)

// text returns headers as lines.
func (h *Headers) text() string {
	var b strings.Builder
	for _, one := range h.List {
		b.WriteString(one.Name + ": " + string(one.Value) + "\n")
	}
	return b.String()
}

// named returns a limit of n in a window.
func named(name string, n int64, window time.Duration, change func(*rules.Limit)) Met {
	l := &rules.Limit{Name: name, Quota: n, Window: int64(window), Params: engine.Params{Alg: engine.Slide}}
	if change != nil {
		change(l)
	}
	return Met{Limit: l, Named: l, Mode: l.Mode, Guard: -1}
}

func TestHeaders(t *testing.T) {
	login := []Met{
		named("login/slide-1m", 5, time.Minute, nil), named("login/fixed-day", 20, 24*time.Hour, nil),
		named("dark", 1, time.Hour, func(l *rules.Limit) { l.Mode = rules.Shadow }),
	}
	ok := &Answer{Row: Row{Allowed: true, Limit: 5, Remaining: 4, ResetMillis: 45144, Name: "login/slide-1m"}, Met: login}
	limited := &Answer{Row: Row{Limit: 5, Remaining: 0, WaitMillis: 1, ResetMillis: 93144, Name: "login/slide-1m"},
		Reason: Limited, Met: login}
	for _, tt := range []struct {
		name   string
		answer *Answer
		set    HeaderSet
		want   string
	}{
		{"x", ok, XHeaders, "X-RateLimit-Limit: 5\nX-RateLimit-Remaining: 4\nX-RateLimit-Reset: 46\n"},
		{"ratelimit", ok, PlainHeaders, "RateLimit-Limit: 5\nRateLimit-Remaining: 4\nRateLimit-Reset: 46\n"},
		{"draft", ok, DraftHeaders, "RateLimit-Policy: \"login/slide-1m\";q=5;w=60, " +
			"\"login/fixed-day\";q=20;w=86400\nRateLimit: \"login/slide-1m\";r=4;t=46\n"},
		{"t is the wait of a denial", limited, DraftHeaders,
			"RateLimit-Policy: \"login/slide-1m\";q=5;w=60, \"login/fixed-day\";q=20;w=86400\nRateLimit: " +
				"\"login/slide-1m\";r=0;t=1\nRetry-After: 1\n"},
		{"both", limited, XHeaders | PlainHeaders,
			"X-RateLimit-Limit: 5\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 94\nRateLimit-Limit: 5\nRateLimit-Remaining: " +
				"0\nRateLimit-Reset: 94\nRetry-After: 1\n"},
		{"a denial for ever", &Answer{Row: Row{WaitMillis: -1}, Reason: Denied, Binding: -1}, XHeaders,
			"X-RateLimit-Limit: 0\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 0\n"},
		{"a limit of 0", &Answer{Row: Row{WaitMillis: -1, Name: "n"}, Reason: Limited, Met: []Met{named("n", 0, 0, nil)}},
			DraftHeaders, "RateLimit-Policy: \"n\";q=0\nRateLimit: \"n\";r=0\n"},
		{"a closed box", &Answer{Row: Row{WaitMillis: 60000, Name: "login"}, Reason: Blocked, Binding: -1, Met: login},
			DraftHeaders, "Retry-After: 60\n"},
		{"no limit", &Answer{Row: Row{Allowed: true, Limit: -1, Remaining: -1}, Reason: None, Binding: -1},
			XHeaders | PlainHeaders | DraftHeaders, ""},
		{"leases, a window below a second, great numbers, and bytes that a header can't have",
			&Answer{Row: Row{Allowed: true, Limit: 9, Name: "a\"b\\c\xc3\r\n"}, Met: []Met{
				named("a\"b\\c\xc3\r\n", 1<<60, 1500*time.Millisecond, nil),
				named("l", 2, time.Hour, func(l *rules.Limit) { l.Params.Alg = engine.Lease }),
			}}, DraftHeaders,
			"RateLimit-Policy: \"a\\\"b\\\\c???\";q=999999999999999, \"l\";q=2;qu=\"concurrent-requests\"\nRateLimit: " +
				"\"a\\\"b\\\\c???\";r=0;t=0\n"},
	} {
		var h Headers
		for range 2 { // the second uses the Headers again
			if h.Set(tt.answer, tt.set); h.text() != tt.want {
				t.Errorf("%s:\n got %s\nwant %s", tt.name, h.text(), tt.want)
			}
		}
	}
}

// TestPolicyIsBounded gives a request 64 limits with long names. The binding limit is in
// RateLimit-Policy, wherever it is.
func TestPolicyIsBounded(t *testing.T) {
	for binding := range 64 {
		a := &Answer{Row: Row{Allowed: true}, Binding: binding}
		for i := range 64 {
			a.Met = append(a.Met, named(strings.Repeat("n", 1000), int64(i), time.Second, nil))
		}
		var h Headers
		h.Set(a, DraftHeaders)
		policies := strings.Split(string(h.List[0].Value), ", ")
		found := false
		for _, p := range policies {
			_, q, _ := strings.Cut(p, ";q=")
			found = found || strings.HasPrefix(q, strconv.Itoa(binding)+";")
		}
		if n := len(h.List[0].Value); n > maxPolicyBytes || len(policies) < 7 || !found {
			t.Errorf("limit %d of 64 binds: %d policies in %d bytes, with it: %v", binding, len(policies), n, found)
		}
	}
}

func TestHeadersDoNotAllocate(t *testing.T) {
	a := &Answer{Row: Row{Limit: 5, WaitMillis: 1, Name: "a"},
		Met: []Met{named("a", 5, time.Minute, nil), named("b", 5, time.Minute, nil)}}
	var h Headers
	if n := testing.AllocsPerRun(100, func() { h.Set(a, XHeaders|DraftHeaders) }); n != 0 {
		t.Errorf("the headers of an answer take %v allocations, want 0", n)
	}
}
