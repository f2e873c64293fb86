package scripts

import (
	"strings"
	"testing"
)

// TestLimitsByLevel: a run at level 1 has the refunds, charges and limits of programs of then, so
// that a log of before is replayed as it was applied.
func TestLimitsByLevel(t *testing.T) {
	for _, tt := range []struct{ name, text, before, now string }{
		{"a charge above a debt is denied, or cut",
			"redis.call('RL.FIXED', KEYS[1], 10, 60, 4) redis.call('RL.CHARGE', KEYS[1], 99) return redis.call('RL.PEEK', " +
				"KEYS[1])[3]", ":6", ":0"},
		{"an age", "return redis.pcall('RL.REFUND', KEYS[1], 1, 'AGE', 1)", "Wrong number of args", "$-1|"},
		{"parameters of a charge", "return redis.pcall('RL.CHARGE', KEYS[1], 1, 'FIXED', 10, 60)[3]", "$-1|", ":9"},
		{"a limit of 0", "return redis.pcall('RL.FIXED', KEYS[1], 0, 60)", "from 1 to", ":-1"},
		{"a limit of 0 in a group", "return redis.pcall('RL.ALL', 'FIXED', KEYS[1], 0, 60, 1)", "from 1 to", ":-1"},
		{"a lease of 0", "return redis.pcall('RL.ACQUIRE', KEYS[1], 0, 60, 'id')", "from 1 to", ":-1"},
		{"more than the engine counts", "return redis.call('RL.FIXED', KEYS[1], 10, 60, '9000000000000000000', 'PARTIAL', " +
			"'SHADOW')[1]", ":2000000000001", ":9000000000000000000"},
	} {
		for level, want := range map[uint8]string{1: tt.before, 2: tt.now} {
			if got := newNode().runAt(level, tt.text, "1", "k"); !strings.Contains(got, want) {
				t.Errorf("%s, at level %d: %q, want %q in it", tt.name, level, got, want)
			}
		}
	}
}
