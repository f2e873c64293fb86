package commands

import (
	"testing"
	"time"
)

// From the tests of gcra.c; the figures follow from its arithmetic.
func TestGCRA(t *testing.T) {
	const at = time.Second
	for name, steps := range map[string][]step{
		"a burst and one more": {
			{0, "GCRA k 2 1 60", "0,3,2,-1,60"},
			{0, "GCRA k 2 1 60", "0,3,1,-1,120"},
			{0, "GCRA k 2 1 60", "0,3,0,-1,180"},
			{0, "GCRA k 2 1 60", "1,3,0,60,180"},
		},
		"several at once": {
			{0, "GCRA k 5 1 60 TOKENS 3", "0,6,3,-1,180"},
			{0, "GCRA k 5 1 60 tokens 4", "1,6,3,60,180"},
			{0, "GCRA k 5 1 60 TOKENS 7", "1,6,3,-1,180"},
			{0, "GCRA k 5 1 60 TOKENS 9223372036", "1,6,3,-1,180"},
		},
		"recovers": {
			{0, "GCRA k 1 1 1 TOKENS 2", "0,2,0,-1,2"},
			{0, "GCRA k 1 1 1", "1,2,0,1,2"},
			{at - 1, "GCRA k 1 1 1", "1,2,0,1,2"},
			{at, "GCRA k 1 1 1", "0,2,0,-1,2"},
			{2*at + 100*time.Millisecond, "GCRA k 1 1 1", "0,2,0,-1,2"},
		},
		"no burst":               {{0, "GCRA k 0 1 1", "0,1,0,-1,1"}, {0, "GCRA k 0 1 1", "1,1,0,1,1"}},
		"a fraction of a second": {{0, "GCRA k 10 5 0.5", "0,11,10,-1,1"}},
		"an exponent":            {{0, "GCRA k 10 1 6e1", "0,11,10,-1,60"}},
		"below a millisecond":    {{0, "GCRA k 1 10000 1", "0,2,1,-1,1"}, {0, "EXISTS k", ":1"}},
		"rounds to microseconds": {{0, "GCRA k 0 6 1", "0,1,0,-1,1"}, {0, "PTTL k", ":167"}, {166666999, "PTTL k", ":1"},
			{166667000, "PTTL k", ":-2"}},
		"at least a microsecond": {{0, "GCRA k 999 9223372036854775807 1 TOKENS 1000", "0,1000,0,-1,1"},
			{0, "PTTL k", ":1"}},
		"another kind of key": {{0, "RL.LOG k 1 1", "1,1,0,0,1000"}, {0, "GCRA k 1 1 1",
			"-WRONGTYPE Operation against a key holding the wrong kind of value: it is in use by LOG, and expires in 1000 ms"}},
		"a key is a token bucket":  {{0, "GCRA k 1 1 1", "0,2,1,-1,1"}, {0, "RL.TOKEN k 2 1", "1,2,0,0,2000"}},
		"a period of almost never": {{0, "GCRA k 0 1 315360000", "0,1,0,-1,315360000"}},
	} {
		t.Run(name, func(t *testing.T) { walk(t, steps) })
	}
}

func TestGCRAErrors(t *testing.T) {
	const over = "GCRA limiting uses microsecond accuracy. Combination of period, tokens_per_period and "
	for _, tt := range []struct{ line, want string }{
		{"GCRA",
			"wrong number of arguments for 'gcra' command; usage: GCRA key max_burst tokens_per_period period [TOKENS count]"},
		{"GCRA k 10 5",
			"wrong number of arguments for 'gcra' command; usage: GCRA key max_burst tokens_per_period period [TOKENS count]"},
		{"GCRA k 10 5 10 TOKENS 1 x",
			"wrong number of arguments for 'gcra' command; usage: GCRA key max_burst tokens_per_period period [TOKENS count]"},
		{"GCRA k -1 5 10", "value is out of range, must be positive"},
		{"GCRA k x 5 10", "value is out of range, must be positive"},
		{"GCRA k 010 5 10", "value is out of range, must be positive"},
		{"GCRA k -0 5 10", "value is out of range, must be positive"},
		{"GCRA k -9223372036854775808 5 10", "value is out of range, must be positive"},
		{"GCRA k 10 0 10", "value is out of range, value must between 1 and 9223372036854775807"},
		{"GCRA k 10 -1 10", "value is out of range, value must between 1 and 9223372036854775807"},
		{"GCRA k 10 -9223372036854775808 10", "value is out of range, value must between 1 and 9223372036854775807"},
		{"GCRA k 10 x 10", "value is not an integer or out of range"},
		{"GCRA k 10 +5 10", "value is not an integer or out of range"},
		{"GCRA k 10 9223372036854775808 10", "value is not an integer or out of range"},
		{"GCRA k 10 5 0", "period must be > 0 and < 1e12"},
		{"GCRA k 10 5 -1", "period must be > 0 and < 1e12"},
		{"GCRA k 10 5 1e12", "period must be > 0 and < 1e12"},
		{"GCRA k 10 5 inf", "period must be > 0 and < 1e12"},
		{"GCRA k 10 5 nan", "value is not a valid float"},
		{"GCRA k 10 5 x", "value is not a valid float"},
		{"GCRA k 10 5 +1", "value is not a valid float"},
		{"GCRA k 10 5 0x1p4", "value is not a valid float"},
		{"GCRA k 10 5 1e999", "value is not a valid float"},
		{`GCRA k 10 5 ""`, "value is not a valid float"},
		{"GCRA k 10 5 10 TOKENS", "Missing TOKENS value"},
		{"GCRA k 10 5 10 COST", "syntax error"},
		{"GCRA k 10 5 10 COST 1", "syntax error"},
		{"GCRA k 10 5 10 TOKENS 0", "value is out of range, value must between 1 and 9223372036854775807"},
		{"GCRA k 10 5 10 TOKENS -1", "value is out of range, value must between 1 and 9223372036854775807"},
		{"GCRA k 10 5 10 TOKENS x", "value is not an integer or out of range"},
		{"GCRA k 1 1 86400 TOKENS 200000000", over + "TOKENS would cause an overflow"},
		{"GCRA k 200000000 1 86400", over + "max_burst would cause an overflow"},
		{"GCRA k 1 1 2147483647 TOKENS 2147483647", over + "TOKENS would cause an overflow"},
		{"GCRA k 9223372036854775807 1 1", over + "max_burst would cause an overflow"},
		{"GCRA k 1000000000000 1000000 1", "max_burst must be a whole number from 0 to 999999999999, got '1000000000000'"},
		{"GCRA k 1 1 315360001", "period must be at most 10 years for each of tokens_per_period, got '315360001'"},
		{`GCRA "" 1 1 1`, "key must be 1 to 1024 bytes long, got ''"},
	} {
		rejected(t, tt.line, "-ERR "+tt.want)
	}
}

// From throttlecrab's tests, which truncate seconds; here a wait is rounded up.
func TestThrottle(t *testing.T) {
	const at = time.Second
	for name, steps := range map[string][]step{
		"figures of redis_test.rs": {
			{0, "THROTTLE test_key 10 100 60", "1,10,9,5,0"},
			{0, "THROTTLE test_key2 10 100 60 5", "1,10,5,7,0"},
		},
		"exhaustion": {
			{0, "THROTTLE k 3 100 60", "1,3,2,1,0"},
			{0, "THROTTLE k 3 100 60", "1,3,1,2,0"}, // 1.8 s: full in 1.2 s, which is 2
			{0, "THROTTLE k 3 100 60", "1,3,0,2,0"},
			{0, "THROTTLE k 3 100 60", "0,3,0,2,1"}, // crab: retry 0
		},
		"remaining count": {
			{0, "THROTTLE k 5 10 60", "1,5,4,24,0"},
			{0, "THROTTLE k 5 10 60 4", "1,5,0,48,0"},
			{0, "THROTTLE k 5 10 60", "0,5,0,48,6"},
			{6 * at, "THROTTLE k 5 10 60", "1,5,0,48,0"},
			{6 * at, "THROTTLE k 5 10 60", "0,5,0,48,6"},
		},
		"quantity": {
			{0, "THROTTLE k 10 10 60 5", "1,10,5,78,0"},
			{0, "THROTTLE k 10 10 60 6", "0,10,5,78,6"},
			{0, "THROTTLE k 10 10 60 5", "1,10,0,108,0"},
		},
		"exact timing": {
			{0, "THROTTLE k 2 120 60", "1,2,1,1,0"},
			{0, "THROTTLE k 2 120 60", "1,2,0,1,0"},
			{at/2 - 1, "THROTTLE k 2 120 60", "0,2,0,1,1"},
			{at / 2, "THROTTLE k 2 120 60", "1,2,0,1,0"},
		},
		"a fraction of a token": {
			{0, "THROTTLE k 3 7 60 3", "1,3,0,34,0"},
			{8 * at, "THROTTLE k 3 7 60", "0,3,0,26,1"},
			{9 * at, "THROTTLE k 3 7 60", "1,3,0,33,0"},
		},
		"an aged key holds no more than max_burst": { // crab: 17 at once
			{0, "THROTTLE k 10 1 1", "1,10,9,9,0"},
			{8900 * time.Millisecond, "THROTTLE k 10 1 1 11", "0,10,10,8,-1"},
			{8900 * time.Millisecond, "THROTTLE k 10 1 1 10", "1,10,0,18,0"},
			{8900 * time.Millisecond, "THROTTLE k 10 1 1", "0,10,0,18,1"},
		},
		"a token more than max_burst is never allowed": { // crab: retry 1
			{0, "THROTTLE k 5 1 1 6", "0,5,5,3,-1"},
			{0, "THROTTLE k 5 1 1 4611686018427387903", "0,5,5,3,-1"},
		},
		"a quantity of 0": {{0, "THROTTLE k 10 1 1 0", "1,10,10,8,0"}, {0, "EXISTS k", ":0"}},
		"one token":       {{0, "THROTTLE k 1 1 60", "1,1,0,60,0"}, {0, "THROTTLE k 1 1 60", "0,1,0,60,60"}},
		"beyond the range of the original": {{0, "THROTTLE k 1000000000000 1 315360000 1000000000000",
			"1,1000000000000,0,9223372036854776,0"}},
		"another kind of key": {{0, "RL.LOG k 1 1", "1,1,0,0,1000"}, {0, "THROTTLE k 1 1 1",
			"-WRONGTYPE Operation against a key holding the wrong kind of value: it is in use by LOG, and expires in 1000 ms"}},
	} {
		t.Run(name, func(t *testing.T) { walk(t, steps) })
	}
}

func TestThrottleErrors(t *testing.T) {
	const failed = "Rate limit check failed: "
	for _, tt := range []struct{ line, want string }{
		{"THROTTLE k",
			"wrong number of arguments for 'throttle' command; usage: THROTTLE key max_burst count period [quantity]"},
		{"THROTTLE k 1 1 1 1 1",
			"wrong number of arguments for 'throttle' command; usage: THROTTLE key max_burst count period [quantity]"},
		{"THROTTLE k x 1 1", "invalid max_burst"},
		{"THROTTLE k 1 x 1", "invalid count_per_period"},
		{"THROTTLE k 1 1 x", "invalid period"},
		{"THROTTLE k 1 1 1 x", "invalid quantity"},
		{"THROTTLE k 1 1 1 -1", failed + "negative quantity: -1"},
		{"THROTTLE k 0 1 1", failed + "invalid rate limit parameters"},
		{"THROTTLE k 1 0 1", failed + "invalid rate limit parameters"},
		{"THROTTLE k 1 1 -1", failed + "invalid rate limit parameters"},
		{"THROTTLE k 4294967296 1 9223372036854775807",
			failed + "invalid rate limit parameters, period / count must be 1 nanosecond to 10 years"},
		{"THROTTLE k 1 1000000001 1",
			failed + "invalid rate limit parameters, period / count must be 1 nanosecond to 10 years"},
		{"THROTTLE k 1000000000001 1 1", failed + "invalid rate limit parameters, max_burst must be at most 1000000000000"},
		{`THROTTLE "" 1 1 1`, "key must be 1 to 1024 bytes long, got ''"},
	} {
		rejected(t, tt.line, "-ERR "+tt.want)
	}
	walk(t, []step{ // max_burst of 2^32 + 1 is not one of 1
		{0, "THROTTLE k 4294967297 1 3600 4294967297", "1,4294967297,0,15461882269200,0"},
		{0, "THROTTLE k 4294967297 1 3600", "0,4294967297,0,15461882269200,3600"},
	})
}
