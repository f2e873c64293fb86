package commands

import (
	"bytes"
	"testing"

	"limitsrv/commands/session"
)

// TestIDsOfChecks: the id of ONCE or RESERVE is a key of RL.CHECK, and no value of an attribute is. So rights
// hold for ids, and no value takes them away.
func TestIDsOfChecks(t *testing.T) {
	r := newRegistry()
	for _, tt := range []struct{ line, id string }{
		{"RL.CHECK d a b", ""},
		{"RL.CHECK d a b ONCE x", "x"},
		{"RL.CHECK d a b once x for 5m", "x"},
		{"RL.CHECK d a b RESERVE x 5s", "x"},
		{"RL.CHECK d a b HITS 4 ROWS reserve x 5s keep 3", "x"},
		{"RL.CHECK d a b RESERVE x 5s KEEP 3 PARTIAL", "x"},
		{"RL.CHECK d a b RESERVE x 5s PARTIAL KEEP ALL", "x"},
		{"RL.CHECK d a b RESERVE x 5s PARTIAL", "x"},
		{"RL.CHECK d a b AND c e HITS in=3 out=4 RESERVE x 5s", "x"},
		{"RL.CHECK d a b RESERVE KEEP 5s", "KEEP"},
		{"RL.CHECK d a b RESERVE ONCE 5s", "ONCE"},
		{"RL.CHECK d path RESERVE x y", ""},
		{"RL.CHECK d path ONCE ROWS", ""},
		{"RL.CHECK d path ONCE ip 1", ""},
		{"RL.CHECK d path RESERVE x y RESERVE z 5s", "z"},
		{"RL.CHECK d a b AND RESERVE x path y", ""},
		{"RL.CHECK d a b AND ONCE x", ""},
		{"RL.CHECK d a b ID RESERVE ONCE x", "x"},
		{"RL.CHECK d path RESERVE ONCE x", "x"},
		{"RL.CHECK d a b ID ONCE RESERVE x 5s", "x"},
		{"RL.CHECK d a b HITS in=1 out=2 ONCE x", "x"},
		{"RL.SETTLE d a b BY 4 ONCE x", "x"},
		{"RL.SETTLE d a b BY in=4 ONCE x FOR 1h", "x"},
		{"RL.SETTLE d rows ONCE by 4", ""},
		{"RL.SETTLE d path RESERVE x 5s", ""},
	} {
		line := words(tt.line)
		c, err := r.Lookup(line, nil)
		if err != nil {
			t.Fatalf("%s: %v", tt.line, err)
		}
		if got := string(bytes.Join(c.KeysOf(line), []byte(" "))); got != tt.id {
			t.Errorf("%s: the keys are %q, want %q", tt.line, got, tt.id)
		}
		want := session.Granted
		if tt.id != "" {
			want = session.DeniedKey
		}
		if why, key := c.Deny(rightsOn(t, "rule:*"), line); why != want || string(key) != tt.id {
			t.Errorf("%s: a user of the domain is denied %v %q", tt.line, why, key)
		}
	}
}
