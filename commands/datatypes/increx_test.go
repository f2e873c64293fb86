package datatypes

import (
	"testing"
	"time"
)

// TestIncrex: a redis-server that has INCREX is not the judge here, so these are the answers
// of the tests of Redis 8.8 and of Valkey 9.2.
func TestIncrex(t *testing.T) {
	pair := func(value, applied string) string { return "*2|:" + value + "|:" + applied + "|" }
	float := func(value, applied string) string { return "*2|" + value + "|" + applied + "|" }
	newOurs().steps(t, someTime, []step{
		{0, "INCREX k", pair("1", "1")},
		{0, "increx k byint 5", pair("6", "5")},
		{0, "INCREX k BYINT 5 UBOUND 10", pair("6", "0")},
		{0, "INCREX k BYINT 5 UBOUND 10 SATURATE", pair("10", "4")},
		{0, "INCREX k BYINT -5 UBOUND 5", pair("5", "-5")},
		{0, "INCREX k BYINT -5 LBOUND 20 SATURATE", pair("20", "15")},
		{0, "INCREX k BYINT 5 LBOUND 30", pair("20", "0")},
		{0, "INCREX k BYINT 9223372036854775807", pair("20", "0")},
		{0, "INCREX k BYINT 9223372036854775807 UBOUND 100 SATURATE", pair("100", "80")},
		{0, "INCREX k BYINT 9223372036854775807 SATURATE", pair("9223372036854775807", "9223372036854775707")},
		{0, "INCREX k BYINT -5 UBOUND -9223372036854775808 SATURATE", "-ERR applied increment would overflow|"},
		{0, "INCREX none UBOUND 0", pair("0", "0")},
		{0, "EXISTS none", ":0|"},
		{0, "INCREX none UBOUND 0 SATURATE", pair("0", "0")},
		{0, "GET none", "$1|0|"},
		{0, "INCREX low LBOUND 5 SATURATE", pair("5", "5")},
		{0, "INCREX low NX", pair("5", "0")},
		{0, "INCREX low XX", pair("6", "1")},
		{0, "INCREX no XX", pair("0", "0")},
		{0, "SET f 10", "+OK|"},
		{0, "INCREX f BYFLOAT 2.5 LBOUND 5.0 UBOUND 15.0", float("$4|12.5", "$3|2.5")},
		{0, "INCREX f BYFLOAT 5.5 UBOUND 14", float("$4|12.5", "$1|0")},
		{0, "INCREX f BYFLOAT 5.5 UBOUND 14 SATURATE", float("$2|14", "$3|1.5")},
		{0, "INCREX f BYFLOAT 1e4932 UBOUND 100 SATURATE", float("$3|100", "$2|86")},
		{0, "INCREX f BYFLOAT 1 LBOUND -inf", float("$3|101", "$1|1")},
		{0, "INCREX f BYFLOAT 1 LBOUND inf UBOUND inf", float("$3|101", "$1|0")},
		{0, "INCREX f BYFLOAT 1 LBOUND inf UBOUND inf SATURATE", "-ERR applied increment would be Infinity|"},
		{0, "GET f", "$3|101|"},
		{0, "SET f inf", "+OK|"},
		{0, "INCREX f BYFLOAT 1", "-ERR value cannot be Infinity|"},
		{0, "INCREX f", "-ERR value is not an integer or out of range|"},
		{0, "SET f x", "+OK|"},
		{0, "INCREX f BYFLOAT 1", "-ERR value is not a valid float|"},
		{0, "INCREX k BYFLOAT inf", "-ERR BYFLOAT increment cannot be Infinity|"},
		{0, "INCREX k BYFLOAT nan", "-ERR Increment is not a valid float|"},
		{0, "INCREX k BYINT 1.5", "-ERR Increment is not an integer or out of range|"},
		{0, "INCREX k UBOUND inf", "-ERR UBOUND is not an integer or out of range|"},
		{0, "INCREX k BYFLOAT 1 LBOUND abc", "-ERR LBOUND is not a valid float|"},
		{0, "INCREX k LBOUND 20 UBOUND 0", "-" + errBounds + "|"},
		{0, "INCREX k BYFLOAT 1 UBOUND -inf", "-" + errBounds + "|"},
		{0, "INCREX k BYFLOAT 1 LBOUND inf", "-" + errBounds + "|"},
		{0, "INCREX k ENX", "-ERR ENX flag requires an expiration|"},
		{0, "INCREX k EX 0", "-ERR invalid expire time in 'increx' command|"},
		{0, "INCREX k EX x", "-" + errNotInt + "|"},
		{0, "INCREX", "-ERR wrong number of arguments for 'increx' command|"},
	})
	for _, options := range []string{
		"BYINT", "BYINT 1 BYINT 2", "BYINT 1 BYFLOAT 2", "LBOUND", "UBOUND 1 UBOUND 2", "SATURATE SATURATE", "EX 10 EX 10",
		"EX 10 PX 10",
		"PERSIST EX 10", "EX 10 PERSIST", "PERSIST ENX", "ENX PERSIST", "ENX ENX EX 10", "PERSIST PERSIST", "NX XX", "NX NX",
		"EX", "SAT",
	} {
		newOurs().steps(t, someTime, []step{{0, "INCREX k " + options, "-" + errSyntax + "|"}})
	}
}

// TestIncrexExpiry: a window counter, and the other ways to set an expiry.
func TestIncrexExpiry(t *testing.T) {
	const second = time.Second
	window := "INCREX k BYINT 1 UBOUND 2 EX 10 ENX"
	newOurs().steps(t, someTime, []step{
		{0, window, "*2|:1|:1|"},
		{5 * second, window, "*2|:2|:1|"},
		{9 * second, window, "*2|:2|:0|"},
		{9 * second, "PTTL k", ":1000|"},
		{11 * second, window, "*2|:1|:1|"},
		{11 * second, "TTL k", ":10|"},
		{11 * second, "INCREX k EX 100", "*2|:2|:1|"},
		{11 * second, "TTL k", ":100|"},
		{11 * second, "INCREX k", "*2|:3|:1|"},
		{11 * second, "TTL k", ":100|"},
		{11 * second, "INCREX k UBOUND 3 PERSIST", "*2|:3|:0|"},
		{11 * second, "TTL k", ":100|"},
		{11 * second, "INCREX k EXAT 1 ENX", "*2|:4|:1|"},
		{11 * second, "TTL k", ":100|"},
		{11 * second, "INCREX k PERSIST", "*2|:5|:1|"},
		{11 * second, "TTL k", ":-1|"},
		{11 * second, "INCREX k BYINT 2 EXAT 1 ENX", "*2|:7|:2|"},
		{11 * second, "EXISTS k", ":0|"},
		{11 * second, "INCREX k EXAT 1", "*2|:1|:1|"},
		{11 * second, "EXISTS k", ":0|"},
		{11 * second, "INCREX k BYFLOAT 2.5 PX 1500", "*2|$3|2.5|$3|2.5|"},
		{11 * second, "PTTL k", ":1500|"},
	})
}
