package commands

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/session"
	"limitsrv/engine"
)

// TestLongRun takes all tokens that a rate of many digits earns in 3 000 s: none is
// missing.
func TestLongRun(t *testing.T) {
	h := newTestHandler("")
	s := h.NewSession(session.Client{})
	const capacity = engine.MaxLimit
	ask(s, fmt.Sprintf("RL.TOKEN k %d 278954392.620290 %d", int64(capacity), int64(capacity)))
	if err := h.Config().TestClock.Advance(3000e9); err != nil {
		t.Fatal(err)
	}
	reply := five(ask(s, fmt.Sprintf("RL.TOKEN k %d 278954392.620290 0", int64(capacity))))
	if remaining := strings.Split(reply, ",")[2]; remaining != "836863177860" {
		t.Errorf("earned %s tokens in 3000 s at 278954392.620290 a second, want 836863177860", remaining)
	}
}
