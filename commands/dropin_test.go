package commands

import (
	"strings"
	"testing"
	"time"

	"limitsrv/commands/session"
)

// A step is a command line, sent at a time since the start, and its reply: the integers
// of an array of five, or the error.
type step struct {
	at         time.Duration
	line, want string
}

// walk sends steps to a new server and compares the replies.
func walk(t *testing.T, steps []step) {
	t.Helper()
	h := newTestHandler("")
	s, clock := h.NewSession(session.Client{}), h.Config().TestClock
	now := time.Duration(0)
	for _, st := range steps {
		if err := clock.Advance(st.at - now); err != nil {
			t.Fatal(err)
		}
		now = st.at
		if got := five(ask(s, st.line)); got != st.want {
			t.Errorf("at %v: %s\n got %s\nwant %s", st.at, st.line, got, st.want)
		}
	}
}

// rejected sends a line to a new server and expects the error and no key.
func rejected(t *testing.T, line, want string) {
	t.Helper()
	h := newTestHandler("")
	if got, keys := five(ask(h.NewSession(session.Client{}), line)), h.Config().Engine().Len(); got != want || keys != 0 {
		t.Errorf("%s\n got %s and %d keys\nwant %s", line, got, keys, want)
	}
}

// five formats an array of five integers as 0,16,15,-1,2. Any other reply is unchanged
// except for line ends.
func five(reply string) string {
	numbers, ok := strings.CutPrefix(reply, "*5|:")
	if !ok {
		return strings.TrimSuffix(reply, "|")
	}
	return strings.TrimSuffix(strings.ReplaceAll(numbers, "|:", ","), "|")
}

func TestRepliesAreByteForByte(t *testing.T) {
	s := newTestHandler("").NewSession(session.Client{})
	for _, tt := range []struct{ line, want string }{
		{"CL.THROTTLE user123 15 30 60", "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n"},
		{"THROTTLE test_key 10 100 60", "*5\r\n:1\r\n:10\r\n:9\r\n:5\r\n:0\r\n"},
		{"GCRA mykey 5 1 60", "*5\r\n:0\r\n:6\r\n:5\r\n:-1\r\n:60\r\n"},
		{"CL.THROTTLE k abc 1 1", "-Cell error: Store error: Couldn't parse as integer: abc\r\n"},
		{"CL.THROTTLE k 1 0 1", "-Cell error: Store error: Zero rates are not supported\r\n"},
		{"GCRA k x 1 1", "-ERR value is out of range, must be positive\r\n"},
		{"THROTTLE k x 1 1", "-ERR invalid max_burst\r\n"},
	} {
		if got := ask(s, tt.line); got != strings.ReplaceAll(tt.want, "\r\n", "|") {
			t.Errorf("%s\n got %q\nwant %q", tt.line, got, tt.want)
		}
	}
}

// The table of redis-cell's own test, it_rate_limits.
func TestCellTable(t *testing.T) {
	const at = time.Millisecond
	walk(t, []step{
		{0 * at, "CL.THROTTLE foo 4 1 1 6", "1,5,5,-1,0"},
		{0 * at, "CL.THROTTLE foo 4 1 1 1", "0,5,4,-1,1"},
		{0 * at, "CL.THROTTLE foo 4 1 1 1", "0,5,3,-1,2"},
		{0 * at, "CL.THROTTLE foo 4 1 1 1", "0,5,2,-1,3"},
		{0 * at, "CL.THROTTLE foo 4 1 1 1", "0,5,1,-1,4"},
		{0 * at, "CL.THROTTLE foo 4 1 1 1", "0,5,0,-1,5"},
		{0 * at, "CL.THROTTLE foo 4 1 1 1", "1,5,0,1,5"},
		{3000 * at, "CL.THROTTLE foo 4 1 1 1", "0,5,2,-1,3"},
		{3100 * at, "CL.THROTTLE foo 4 1 1 1", "0,5,1,-1,4"}, // 3.9 s
		{4000 * at, "CL.THROTTLE foo 4 1 1 1", "0,5,1,-1,4"},
		{8000 * at, "CL.THROTTLE foo 4 1 1 1", "0,5,4,-1,1"},
		{9500 * at, "CL.THROTTLE foo 4 1 1 1", "0,5,4,-1,1"},
		{9500 * at, "CL.THROTTLE foo 4 1 1 0", "0,5,4,-1,1"},
		{9500 * at, "CL.THROTTLE foo 4 1 1 2", "0,5,2,-1,3"},
		{9500 * at, "CL.THROTTLE foo 4 1 1 5", "1,5,2,3,3"},
	})
}

// Replies recorded from redis-cell 0.5.0, and our differences.
func TestCell(t *testing.T) {
	const at = time.Second
	for name, steps := range map[string][]step{
		"readme": {
			{0, "CL.THROTTLE user123 15 30 60 1", "0,16,15,-1,2"},
		},
		"two at once": {
			{0, "CL.THROTTLE d 1 1 2", "0,2,1,-1,2"},
			{0, "CL.THROTTLE d 1 1 2", "0,2,0,-1,4"},
			{0, "CL.THROTTLE d 1 1 2", "1,2,0,2,4"},
		},
		"end to end test": {
			{0, "CL.THROTTLE user123 0 1 2 1", "0,1,0,-1,2"},
			{0, "CL.THROTTLE user123 0 1 2 1", "1,1,0,2,2"},
			{2 * at, "CL.THROTTLE user123 0 1 2 1", "0,1,0,-1,2"},
		},
		"never":                            {{0, "CL.THROTTLE big 4 1 10 6", "1,5,5,-1,0"}},
		"a quantity of 0 on a missing key": {{0, "CL.THROTTLE new 15 30 60 0", "0,16,16,-1,0"}, {0, "EXISTS new", ":0"}},
		"returns tokens": {
			{0, "CL.THROTTLE q 4 1 10 3", "0,5,2,-1,30"},
			{0, "CL.THROTTLE q 4 1 10 -2", "0,5,4,-1,10"},
			{0, "CL.THROTTLE q 4 1 10 1", "0,5,3,-1,20"},
		},
		"returns no more than was taken": {
			{0, "CL.THROTTLE q 4 1 10 3", "0,5,2,-1,30"},
			{0, "CL.THROTTLE q 4 1 10 -9223372036854775808", "0,5,5,-1,0"},
			{0, "EXISTS q", ":0"},
			{0, "CL.THROTTLE q 4 1 10 -1", "0,5,5,-1,0"},
		},
		"reads integers as Rust does": {
			{0, "CL.THROTTLE r +15 0030 60 +1", "0,16,15,-1,2"},
		},
		"a rate above a million a second": {
			{0, "CL.THROTTLE f 10 2000000 1", "0,11,10,-1,0"},
			{0, "CL.THROTTLE f 10 2000000 1 10", "0,11,0,-1,0"},
			{0, "CL.THROTTLE f 10 2000000 1", "1,11,0,1,0"}, // cell: remaining 9223372036854775807
		},
		"debt below a millisecond": {
			{0, "CL.THROTTLE s 10 9000 1 11", "0,11,0,-1,1"},
			{0, "CL.THROTTLE s 10 9000 1 1", "1,11,0,1,1"},
			{111_110, "CL.THROTTLE s 10 9000 1 1", "1,11,0,1,1"},
			{111_111, "CL.THROTTLE s 10 9000 1 1", "0,11,0,-1,1"},
		},
		"rounds the reset at milliseconds, the wait always up": {
			{0, "CL.THROTTLE m 0 1 3", "0,1,0,-1,3"},
			{at - 500*time.Microsecond, "CL.THROTTLE m 0 1 3", "1,1,0,3,2"},
			{3*at - 1, "CL.THROTTLE m 0 1 3", "1,1,0,1,0"},
			{3 * at, "CL.THROTTLE m 0 1 3", "0,1,0,-1,3"},
		},
		"a limit changed": {
			{0, "CL.THROTTLE c 9 1 10 5", "0,10,5,-1,50"},
			{0, "CL.THROTTLE c 1 1 10", "1,2,0,40,50"},
			{0, "CL.THROTTLE c 99 1 10", "0,100,94,-1,60"},
			{0, "CL.THROTTLE c 9 10 10", "1,10,0,51,60"},
		},
	} {
		t.Run(name, func(t *testing.T) { walk(t, steps) })
	}
}

// Arguments that redis-cell accepts and then computes wrong results for are rejected.
func TestCellErrors(t *testing.T) {
	const cell = "-Cell error: Store error: "
	for _, tt := range []struct{ line, want string }{
		{"CL.THROTTLE k abc 1 1", "Couldn't parse as integer: abc"},
		{"CL.THROTTLE k 1 1.5 1", "Couldn't parse as integer: 1.5"},
		{`CL.THROTTLE k 1 1 ""`, "Couldn't parse as integer: "},
		{"CL.THROTTLE k 1 1 1 1e3", "Couldn't parse as integer: 1e3"},
		{"CL.THROTTLE k 9223372036854775808 1 1", "Couldn't parse as integer: 9223372036854775808"},
		{"CL.THROTTLE k 1 \xff\x00 1", `Couldn't parse as integer: \xff\x00`},
		{"CL.THROTTLE k 1 1 " + strings.Repeat("9", 40),
			"Couldn't parse as integer: '" + strings.Repeat("9", 32) + "...' (40 bytes)"},
		{"CL.THROTTLE k 1 0 1", "Zero rates are not supported"},
		{"CL.THROTTLE k 1 1 0", "Zero rates are not supported"},
		{"CL.THROTTLE k 1 1000000001 1", "Zero rates are not supported"},
		{"CL.THROTTLE k 9223372036854775807 1 1", "max_burst must be from 0 to 999999999999, got '9223372036854775807'"},
		{"CL.THROTTLE k 1000000000000 1 1", "max_burst must be from 0 to 999999999999, got '1000000000000'"},
		{"CL.THROTTLE k -1 1 1", "max_burst must be from 0 to 999999999999, got '-1'"},
		{"CL.THROTTLE k -5 1 1", "max_burst must be from 0 to 999999999999, got '-5'"},
		{"CL.THROTTLE k 1 -1 1", "count must be above 0, got '-1'"},
		{"CL.THROTTLE k 1 1 -1", "period must be above 0, got '-1'"},
		{"CL.THROTTLE k 1 -1 -1", "count must be above 0, got '-1'"},
		{"CL.THROTTLE k 1 1 9223372036854775807", "period / count must be at most 10 years, got '9223372036854775807' / '1'"},
		{"CL.THROTTLE k 1 1 315360001", "period / count must be at most 10 years, got '315360001' / '1'"},
		{`CL.THROTTLE "" 1 1 1`, "key must be 1 to 1024 bytes long, got ''"},
	} {
		for _, name := range []string{"CL.THROTTLE", "RL.THROTTLE"} {
			line := name + strings.TrimPrefix(tt.line, "CL.THROTTLE")
			rejected(t, line, cell+tt.want)
		}
	}
	walk(t, []step{{0, "CL.THROTTLE k 0 1 315360000", "0,1,0,-1,315360000"}, {0, "RL.LOG l 1 1", "1,1,0,0,1000"},
		{0, "CL.THROTTLE l 1 1 1",
			"-WRONGTYPE Operation against a key holding the wrong kind of value: it is in use by LOG, and expires in 1000 ms"}})
}

func TestCellUsage(t *testing.T) {
	for _, line := range []string{"CL.THROTTLE", "CL.THROTTLE k 1 1", "CL.THROTTLE k 1 1 1 1 1"} {
		rejected(t, line,
			"-Cell error: Store error: Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]")
	}
}
