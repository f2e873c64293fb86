package access

import "testing"

func TestSiteLimiter(t *testing.T) {
	b := NewSiteLimiter(3, 2)
	for i, tt := range []struct {
		host string
		want bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"c", false}} {
		if got := b.Acquire(tt.host); got != tt.want {
			t.Errorf("connection %d, of %s: Acquire returns %v", i, tt.host, got)
		}
	}
	b.Release("a")
	if !b.Acquire("c") || b.Acquire("a") {
		t.Error("a released slot is not available to another site, or is to its own")
	}
	for _, host := range []string{"a", "b", "c"} {
		b.Release(host)
	}
	if b.Len() != 0 || len(b.perSite) != 0 {
		t.Errorf("%d left, by site %v", b.Len(), b.perSite)
	}
}
