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

// TestOnceByLevel: runs at levels below 3 do not have the option ONCE, and their errors do not name it.
func TestOnceByLevel(t *testing.T) {
	const arity = "Wrong number of args"
	for _, tt := range []struct{ line, before, now string }{
		{"'RL.TOKEN', KEYS[1], 5, 1, 'ONCE', KEYS[2]", "each once in any order, are allowed, got 'ONCE'", ":4"},
		{"'RL.TOKEN', KEYS[1], 5, 1, 1, 'PARTIAL', 'ONCE', KEYS[2]", arity, ":4"},
		{"'RL.TOKEN', KEYS[1], 5, 1, 1, 'x'", "each once in any order, are allowed, got 'x'", "at the end ONCE"},
		{"'RL.CHARGE', KEYS[1], 1, 'FIXED', 5, 60, 'ONCE', KEYS[2]", arity, ":4"},
		{"'RL.CHARGE', KEYS[1], 1, 'x'", "", "then ONCE id"},
		{"'RL.REFUND', KEYS[1], 1, 'AGE', '1s', 'ONCE', KEYS[2]", arity, "$-1|"},
		{"'RL.ALL', 'FIXED', KEYS[1], 5, 60, 1, 'ONCE', KEYS[2]", "got 7 arguments", ":4"},
	} {
		text := "local r = redis.pcall(" + tt.line + ") if not r or r.err then return r end " +
			"return (type(r[3]) == 'table' and r[3] or r)[3]"
		for level := uint8(1); level <= 3; level++ {
			want, not := tt.before, "ONCE id"
			if level == 3 {
				want, not = tt.now, arity
			}
			got := newNode().runAt(level, text, "2", "k", "id")
			if !strings.Contains(got, want) || strings.Contains(got, not) {
				t.Errorf("%s, at level %d: %q, want %q in it", tt.line, level, got, want)
			}
		}
	}
}
