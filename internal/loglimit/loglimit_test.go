package loglimit

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestLimiter(t *testing.T) {
	const interval = time.Minute
	type step struct {
		after time.Duration // since the step before
		key   string
		want  bool
	}
	for _, tt := range []struct {
		name     string
		whenFull Policy
		steps    []step
	}{
		{"logs a key once per interval", Suppress, []step{
			{0, "a", true}, {0, "a", false}, {interval - 1, "a", false}, {1, "a", true}, {interval - 1, "a", false},
		}},
		{"logs each key", Suppress, []step{{0, "a", true}, {0, "b", true}, {0, "b", false}}},
		{"suppresses a new key while it is full", Suppress, []step{
			{0, "a", true}, {1, "b", true}, {interval - 2, "c", false}, {1, "c", true}, {0, "d", false}, {0, "b", false},
			{1, "d", true},
		}},
		{"renews a key while it is full", Suppress,
			[]step{{0, "a", true}, {0, "b", true}, {interval, "a", true}, {0, "c", true}, {0, "b", false}}},
		{"forgets all keys for a new one", Forget, []step{
			{0, "a", true}, {0, "b", true}, {0, "c", true}, {0, "c", false}, {0, "a", true}, {0, "b", true},
		}},
		{"forgets expired keys first", Forget,
			[]step{{0, "a", true}, {1, "b", true}, {interval - 1, "c", true}, {0, "b", false}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := New[string](interval, 2, tt.whenFull)
			for i, s := range tt.steps {
				time.Sleep(s.after)
				if got := l.Allow(s.key); got != s.want {
					t.Errorf("%s: step %d: Allow(%q) = %v, want %v", tt.name, i+1, s.key, got, s.want)
				}
				if len(l.last) > l.most {
					t.Fatalf("%s: step %d: %d keys are remembered, want at most %d", tt.name, i+1, len(l.last), l.most)
				}
			}
		})
	}
}
