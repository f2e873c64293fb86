package engine

import (
	"encoding/hex"
	"testing"
)

// TestParamsEncoding compares the bytes that logs, snapshots and links contain.
func TestParamsEncoding(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    Params
		want string
	}{
		{"none", Params{}, "0000000000"},
		{"a rate", Params{Alg: Token, Limit: 300, Count: 1, Period: 1_000_000}, "0000ac0201c0843d"},
		{"a calendar", Params{Alg: Fixed, Calendar: Month, Limit: 1}, "0203010000"},
		{"the highest", Params{Alg: 127, Calendar: 255, Limit: 1<<63 - 1, Count: 1<<63 - 1, Period: 1<<63 - 1},
			"7fffffffffffffffffff7fffffffffffffffff7fffffffffffffffff7f"},
		{"a negative number", Params{Limit: -1}, "0000ffffffffffffffffff010000"},
	} {
		data := tt.p.Append(nil)
		if got := hex.EncodeToString(data); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		var p Params
		if n := p.Decode(append(data, 1, 2, 3)); n != len(data) || p != tt.p {
			t.Errorf("%s: decoded %d of %d bytes to %+v", tt.name, n, len(data), p)
		}
		for short := range data {
			if n := p.Decode(data[:short]); n != 0 {
				t.Errorf("%s: %d of %d bytes were decoded as %d", tt.name, short, len(data), n)
			}
		}
	}
	var p Params
	if n := p.Decode([]byte("\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00")); n != -1 {
		t.Errorf("a number of more than 64 bits: got %d, want -1", n)
	}
}
