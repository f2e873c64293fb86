package datatypes

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"limitsrv/engine"
)

// A step is a command line at a time after the start, and its reply with | for line ends.
type step struct {
	at   time.Duration
	line string
	want string
}

// steps carries out lines and compares the replies.
func (o *ours) steps(t *testing.T, start engine.Instant, steps []step) {
	t.Helper()
	for _, s := range steps {
		o.now = start + engine.Instant(s.at)
		got := strings.ReplaceAll(string(o.do(bytes.Fields([]byte(s.line)))), "\r\n", "|")
		if got != s.want {
			t.Errorf("at %v %s: %q, want %q", s.at, s.line, got, s.want)
		}
	}
}

// TestExpirySteps follows values to the millisecond of their expiry. someTime is 123.456789
// ms after a second.
func TestExpirySteps(t *testing.T) {
	const ms = time.Millisecond
	newOurs().steps(t, someTime, []step{
		{0, "SET k v PX 1500", "+OK|"},
		{0, "PTTL k", ":1500|"},
		{0, "TTL k", ":2|"},
		{ms, "TTL k", ":1|"},
		{ms, "PEXPIRETIME k", ":1750000001623|"},
		{ms, "EXPIRETIME k", ":1750000002|"},
		{1500 * ms, "PTTL k", ":0|"},
		{1500 * ms, "GET k", "$1|v|"},
		{1501*ms - 456789, "GET k", "$-1|"},
		{1501 * ms, "TTL k", ":-2|"},
		{1501 * ms, "SETEX k 10 v", "+OK|"},
		{1501 * ms, "PERSIST k", ":1|"},
		{1501 * ms, "PERSIST k", ":0|"},
		{1501 * ms, "TTL k", ":-1|"},
		{1501 * ms, "EXPIRE k 10 XX", ":0|"},
		{1501 * ms, "EXPIRE k 10 GT", ":0|"},
		{1501 * ms, "EXPIRE k 10 LT", ":1|"},
		{1501 * ms, "EXPIRE k 9 GT", ":0|"},
		{1501 * ms, "EXPIRE k 11 NX", ":0|"},
		{1501 * ms, "EXPIRE k 11 gt", ":1|"},
		{1501 * ms, "INCRBYFLOAT n 0.5", "$3|0.5|"},
		{1501 * ms, "PEXPIRE n 100", ":1|"},
		{1501 * ms, "INCRBYFLOAT n 1", "$3|1.5|"},
		{1501 * ms, "PTTL n", ":100|"},
		{1501 * ms, "SET n 7 KEEPTTL", "+OK|"},
		{1501 * ms, "PTTL n", ":100|"},
		{1501 * ms, "INCR n", ":8|"},
		{1501 * ms, "PTTL n", ":100|"},
		{1501 * ms, "RENAME n m", "+OK|"},
		{1501 * ms, "PTTL m", ":100|"},
		{1501 * ms, "SET m 1", "+OK|"},
		{1501 * ms, "PTTL m", ":-1|"},
		{1501 * ms, "PEXPIREAT m 1750000001624", ":1|"},
		{1501 * ms, "EXISTS m", ":0|"},
		{1501 * ms, "SET m 1 PXAT 1750000001624", "+OK|"},
		{1501 * ms, "GET m", "$1|1|"},
		{1502 * ms, "GET m", "$-1|"},
		{1502 * ms, "SET m 1 PXAT 1750000001624", "+OK|"},
		{1502 * ms, "EXISTS m", ":0|"},
		{1502 * ms, "SET m 1 EX 100", "+OK|"},
		{1502 * ms, "GETEX m PXAT 1750000001625", "$1|1|"},
		{1502 * ms, "EXISTS m", ":0|"},
		// A clock that goes back is not followed.
		{0, "SETEX m 100 x", "+OK|"},
		{0, "PEXPIRETIME m", ":1750000101625|"},
	})
}

// TestLimitsAmongValues: limits are keys that only their own commands, and commands for any
// type, can use.
func TestLimitsAmongValues(t *testing.T) {
	o := newOurs()
	take := func(key string) {
		o.e.Apply(someTime, &engine.Batch{Ops: []engine.Op{{
			Kind: engine.Take, Params: engine.Params{Alg: engine.Log, Limit: 10, Period: 90_000_400_000}, N: 3, Key: []byte(key),
		}}})
	}
	take("l")
	o.steps(t, someTime, []step{
		{0, "TYPE l", "+log|"},
		{0, "EXISTS l l none", ":2|"},
		{0, "TTL l", ":91|"},
		{0, "PTTL l", ":90001|"},
		{0, "GET l", "-" + errWrongType + "|"},
		{0, "INCR l", "-" + errWrongType + "|"},
		{0, "APPEND l x", "-" + errWrongType + "|"},
		{0, "EXPIRE l 10", "-" + errWrongType + "|"},
		{0, "PERSIST l", "-" + errWrongType + "|"},
		{0, "GETSET l x", "-" + errWrongType + "|"},
		{0, "SET l x GET", "-" + errWrongType + "|"},
		{0, "MGET l", "*1|$-1|"},
		{0, "SETNX l x", ":0|"},
		{0, "RENAME l m", "+OK|"},
		{0, "TYPE l", "+none|"},
		{0, "PTTL m", ":90001|"},
		{0, "RENAMENX m m", ":0|"},
		{0, "SET m x KEEPTTL", "+OK|"},
		{0, "TTL m", ":-1|"},
		{0, "TYPE m", "+string|"},
	})
	take("n")
	o.steps(t, someTime, []step{{0, "RENAME n m", "+OK|"}, {0, "TYPE m", "+log|"}, {0, "DEL m n", ":1|"}})
	take("o")
	o.steps(t, someTime, []step{{0, "MSET o 1 p 2", "+OK|"}, {0, "MGET o p", "*2|$1|1|$1|2|"}})
}

// TestRefusals: keys and values beyond the bounds, and full memory.
func TestRefusals(t *testing.T) {
	o := newOurs()
	long := strings.Repeat("x", engine.MaxValueBytes)
	key := strings.Repeat("k", engine.MaxKeyBytes+1)
	o.steps(t, someTime, []step{
		{0, "SET k " + long, "+OK|"},
		{0, "APPEND k x", "-" + errTooLong + "|"},
		{0, "SET k " + long + "x", "-" + errTooLong + "|"},
		{0, "SETRANGE k 16777216 x", "-" + errTooLong + "|"},
		{0, "SETRANGE k 16777215 y", ":16777216|"},
		{0, "GETRANGE k -2 -1", "$2|xy|"},
		{0, "GET " + key, "-ERR key must be 1 to 1024 bytes long, got 1025|"},
	})
	for _, tt := range []struct{ line, want string }{
		{"SET new x", "-" + errFull + "|"},
		{"SETNX new x", "-" + errFull + "|"},
		{"INCR new", "-" + errFull + "|"},
		{"APPEND k x", "-" + errTooLong + "|"},
		{"MSET k x new x", "-" + errFull + "|"},
		{"MSETNX new x", "-" + errFull + "|"},
		{"SETRANGE k 0 zz", ":16777216|"},
		{"GETSET k 5", "$16777216|zz"},
		{"INCR k", ":6|"},
		{"GETSET k 123456789", "$1|6|"},
		{"GETSET k abcdefgh", "-" + errFull + "|"},
		{"GET k", "$9|123456789|"},
		{"DEL k", ":1|"},
	} {
		o.batch.Reset()
		line := bytes.Fields([]byte(tt.line))
		command := Find(line[0])
		command.SetCall(o.batch.AddCall(0), line[1:])
		o.batch.Tight = true
		o.e.Apply(someTime, &o.batch)
		if got := strings.ReplaceAll(string(renderCall(o)), "\r\n", "|"); !strings.HasPrefix(got, tt.want) {
			t.Errorf("tight: %s: %.80q, want %q", tt.line, got, tt.want)
		}
	}
}
