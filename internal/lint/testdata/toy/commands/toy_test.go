package commands

import (
	"strings"
	"testing"

	"limitsrv/commands/session"
)

func TestToy(t *testing.T) {
	s := newTestHandler("").NewSession(session.Client{Addr: "127.0.0.1:9", LocalAddr: "127.0.0.1:6379"})
	for _, tt := range []struct{ line, want string }{
		{"RL.TOY k 2 10s", "*5|:1|:2|:1|:0|:10000|"},
		{"RL.REFUND k 1", "*5|:1|:2|:2|:0|:0|"},
		{"RL.TOY k 1000001 10s", "limit must be"},
		{"RL.TOY k 2 day", "window must be"},
		{"RL.TOY k 2", "usage: RL.TOY key limit window [n] [PARTIAL] [SHADOW]"},
		{"RL.ALL ROY l 2 10s 1", "TOKEN, LEAKY, FIXED, SLIDE, LOG or TOY, got 'ROY'; did you mean TOY?"},
		{"COMMAND DOCS RL.TOY", "|Plays with n tokens.|"},
		{"RL.STATS", "|TOY|"},
	} {
		if got := ask(s, tt.line); !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %s, want %s", tt.line, got, tt.want)
		}
	}
}
