package main

import "testing"

func TestHashValue(t *testing.T) {
	out, log, code := runs(t, limitsrv(nil, "hash-value", "203.0.113.7", "::FFFF:203.0.113.7", "u-42"))
	if want := "#fec52565 203.0.113.7\n#fec52565 203.0.113.7\n#16ec525b u-42\n"; out != want || log != "" ||
		code != exitOK {
		t.Errorf("%q, %q, exit %d, want %q", out, log, code, want)
	}
}
