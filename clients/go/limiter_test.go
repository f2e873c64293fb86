package limitsrv

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestMemoryIsBounded(t *testing.T) {
	m, now := newMemory(), time.Now()
	for i := range 2 * maxRemembered {
		m.put(fmt.Sprint(i), decision{wait: 60_000}, now, time.Minute)
	}
	if len(m.entries) != maxRemembered {
		t.Errorf("%d denials are remembered, want %d", len(m.entries), maxRemembered)
	}
	if _, ok := m.get(fmt.Sprint(2*maxRemembered-1), now); !ok {
		t.Error("the last denial is not remembered")
	}
}

func TestMemoryEnds(t *testing.T) {
	now := time.Now()
	for _, tt := range []struct {
		wait    int64 // ms
		longest time.Duration
		after   time.Duration
		want    string
	}{
		{10_000, time.Minute, 0, "wait 10000, reset 20000"},
		{10_000, time.Minute, 9_999 * time.Millisecond, "wait 1, reset 10001"},
		{10_000, time.Minute, 10 * time.Second, "none"},
		{10_000, 5 * time.Second, 5 * time.Second, "none"},
		{-1, 5 * time.Second, 4 * time.Second, "wait -1, reset 16000"},
		{-1, 5 * time.Second, 5 * time.Second, "none"},
		{10_000, -1, 0, "none"},
	} {
		m := newMemory()
		m.put("k", decision{wait: tt.wait, reset: 20_000}, now, tt.longest)
		got := "none"
		if d, ok := m.get("k", now.Add(tt.after)); ok {
			got = fmt.Sprintf("wait %d, reset %d", d.wait, d.reset)
		}
		if got != tt.want {
			t.Errorf("a wait of %d ms, remembered for at most %v, after %v: got %s, want %s", tt.wait, tt.longest, tt.after, got,
				tt.want)
		}
	}
}

func TestNetwork(t *testing.T) {
	for _, tt := range [][2]string{
		{"203.0.113.7", "203.0.113.7"},
		{"::ffff:203.0.113.7", "203.0.113.7"},
		{"2001:DB8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{"fe80::1%eth0", "fe80::/64"},
		{"@", "@"},
	} {
		if got := network(tt[0]); got != tt[1] {
			t.Errorf("network(%s) = %s, want %s", tt[0], got, tt[1])
		}
	}
}

func TestIdentityIsBounded(t *testing.T) {
	if got := bounded(strings.Repeat("x", 129)); len(got) != 32 {
		t.Errorf("a key of 129 bytes becomes %q, want a digest of 32 digits", got)
	}
	if got := bounded("customer-7"); got != "customer-7" {
		t.Errorf("a short key becomes %q", got)
	}
}

func TestPolicy(t *testing.T) {
	for _, tt := range []struct {
		limit Limit
		want  string
	}{
		{Limit{Requests: 100, Per: time.Minute}, `"n";q=100;w=60`},
		{Limit{Requests: 5, Per: time.Second, Burst: 10}, `"n";q=10;w=2`},
		{Limit{Requests: 5, Per: time.Hour, Burst: 10, Algorithm: "SLIDE"}, `"n";q=5;w=3600`},
	} {
		if got := policy("n", tt.limit); got != tt.want {
			t.Errorf("policy of %+v is %s, want %s", tt.limit, got, tt.want)
		}
	}
}

// TestSeveralLimits has the headers of a request that met two middlewares.
func TestSeveralLimits(t *testing.T) {
	h := http.Header{}
	decision{allowed: true, limit: 10, remaining: 3, name: `"a"`, policies: `"a";q=10`}.write(h)
	decision{allowed: true, limit: 20, remaining: 9, name: `"b"`, policies: `"b";q=20`}.write(h)
	if got := h.Get("X-RateLimit-Limit"); got != "10" {
		t.Errorf("X-RateLimit-Limit is %s, want 10: the limit with the least remaining", got)
	}
	if got := fmt.Sprint(h.Values("RateLimit"),
		h.Values("RateLimit-Policy")); got != `["a";r=3;t=0 "b";r=9;t=0] ["a";q=10 "b";q=20]` {
		t.Errorf("the headers of both limits are %s", got)
	}
}
