package commands

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/session"
)

// TestUnsettledWork: a command whose work is not known before those in front of it have been executed
// is looked at again then, so that it waits for its turn. In a transaction it is slow.
func TestUnsettledWork(t *testing.T) {
	members, fields := "SADD new", "HSET hash"
	for i := range 6000 {
		members += fmt.Sprintf(" m%d", i)
		fields += fmt.Sprintf(" %d", i)
	}
	for _, tt := range []struct {
		lines string // separated by ;
		slow  bool
	}{
		{"DEL big;SETRANGE big 16000000 x", true},
		{"UNLINK big;SETBIT big 128000000 1", true},
		{"RL.RESET big;BITFIELD big SET u8 128000000 1", true},
		{"SET big 1;SETRANGE big 16000000 x", true},
		{"EXPIRE big -1;SETRANGE big 16000000 x", true},
		{"GETEX big PXAT 1;SETRANGE big 16000000 x", true},
		{"RENAME hash other;HGETALL other", true},
		{"EVAL return(redis.call('DEL',KEYS[1])) 1 big;SETRANGE big 16000000 x", true},
		{"FLUSHDB;SETRANGE big 16000000 x", true},
		{members + ";SMEMBERS new", true},
		{"DEL other;SETRANGE big 16000000 x", false},
		{"SETRANGE big 5 x;SETRANGE big 16000000 x", false},
		{"SADD new a;SMEMBERS new", false},
	} {
		lines := strings.Split(tt.lines, ";")
		name := lines[0][:min(40, len(lines[0]))] + ", " + lines[1]
		for _, inMulti := range []bool{false, true} {
			h := newTestHandler("")
			s := h.NewSession(session.Client{Wake: func() {}})
			h.Drain() // no rests between turns
			ask(s, "SETRANGE big 16000000 x", fields)
			_, before := h.Turns()
			if inMulti {
				ask(s, "MULTI")
			}
			for _, line := range lines {
				s.Do(words(line))
			}
			if inMulti {
				s.Do(words("EXEC"))
			}
			for !s.Flush() || s.Paused() {
				s.Resume()
				s.Continue()
			}
			if _, after := h.Turns(); after > before != tt.slow {
				t.Errorf("%s (in a transaction: %v): %d turns, want some: %v; %.100q", name, inMulti, after-before, tt.slow, s.Out)
			}
		}
	}
}

// TestDearTransaction: a transaction with too much work is discarded as a whole, but not because of
// one command.
func TestDearTransaction(t *testing.T) {
	s := newTestHandler("").NewSession(session.Client{Wake: func() {}})
	ask(s, "SETRANGE big 16777215 x", "SADD set"+members(1000))
	ask(s, "SINTERCARD 3000"+strings.Repeat(" set", 3000)+" LIMIT 1") // is in no transaction
	lines := []string{"MULTI", "SET a 1"}
	for range 40 {
		lines = append(lines, "BITCOUNT big")
	}
	if got := ask(s, append(lines, "EXEC", "GET a", "EXEC")...); !strings.HasSuffix(got,
		"at most 8388608, not counting the command with most of them|$-1|-ERR EXEC without MULTI|") {
		t.Errorf("the answers are %.3000s", got)
	}
	if got := ask(s, "MULTI", "SET a 1", "BITCOUNT big", "EXEC"); !strings.HasSuffix(got, "*2|+OK|:4|") {
		t.Errorf("the answers to few commands are %s", got)
	}
}

// members returns n words, each after a space.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprint(&b, " ", i)
	}
	return b.String()
}
