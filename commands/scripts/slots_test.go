package scripts

import (
	"strings"
	"testing"

	"limitsrv/engine/slots"
)

// In a group that owns only some slots, a script touches keys of the slot of its first key or, without
// keys, of the slots of the group. It sends no messages.
func TestSlotsOfScripts(t *testing.T) {
	const crossed = "do not hash to the same slot"
	n := newNode()
	foo := slots.Of([]byte("foo"))
	n.e.SetOwned(slots.Set{{First: foo, Last: foo}})
	for _, tt := range []struct {
		text string
		args string
		want string // in the answer
	}{
		{"return redis.call('SET', KEYS[1], 1)", "1 foo", "OK"},
		{"return redis.call('SET', KEYS[1] .. 'x', 1)", "1 foo", crossed},
		{"return redis.call('SET', '{' .. KEYS[1] .. '}x', 1)", "1 foo", "OK"},
		{"return redis.call('SET', 'foo', 1)", "0", "OK"},
		{"return redis.call('SET', 'bar', 1)", "0", crossed},
		{"return redis.call('GET', 'bar')", "0", crossed},
		{"return redis.call('MSET', 'foo', 1, 'bar', 2)", "0", crossed},
		{"return redis.call('SINTERCARD', 2, 'foos', 'bar')", "0", crossed},
		{"return redis.call('RENAME', 'foo', 'bar')", "0", crossed},
		{"return redis.call('RL.FIXED', 'bar', 10, 'hour')", "0", crossed},
		{"return redis.call('RL.FIXED', 'foo', 10, 'hour', 1, 'ONCE', 'bar')", "0", crossed},
		{"return redis.call('RL.ALL', 'FIXED', 'bar', 10, 'hour', 1)", "0", crossed},
		{"return redis.call('PUBLISH', 'c', 'x')", "0", "only in a cluster of one group"},
		{"return redis.call('DBSIZE')", "0", ":"},
	} {
		if got := n.run(tt.text, strings.Fields(tt.args)...); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
}
