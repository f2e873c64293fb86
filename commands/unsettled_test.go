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
		fields += fmt.Sprintf(" f%d v", i)
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

// TestDearTransaction: a transaction with too much work is discarded as a whole. Commands count whose
// values earlier commands of the transaction store or remove.
func TestDearTransaction(t *testing.T) {
	for _, tt := range []struct {
		lines string // separated by ;
		times int
		fails bool
	}{
		{"SET a 1;BITCOUNT big", 1, false},
		{"SET a 1;BITCOUNT big", 6, true},
		{"SET a 1;DEL big;SETRANGE big 16000000 x", 1, false},
		{"SET a 1;DEL big;SETRANGE big 16000000 x", 4, true},
		{"SET a 1;SUNIONSTORE new set set2;SMEMBERS new", 1, false},
		{"SET a 1;SUNIONSTORE new set set2" + strings.Repeat(";SMEMBERS new", 80), 1, true},
	} {
		s := newTestHandler("").NewSession(session.Client{Wake: func() {}})
		ask(s, "SETRANGE big 16777215 x", "SADD set"+members(1000), "SADD set2"+members(500))
		lines := []string{"MULTI"}
		for range tt.times {
			lines = append(lines, strings.Split(tt.lines, ";")...)
		}
		got := ask(s, append(lines, "EXEC", "GET a", "EXEC")...)
		if fails := strings.Contains(got, "|-EXECABORT Transaction discarded because"); fails != tt.fails ||
			strings.HasSuffix(got, "|$-1|-ERR EXEC without MULTI|") != tt.fails {
			t.Errorf("%s, %d times: the answers end in %s", tt.lines, tt.times, got[max(0, len(got)-500):])
		}
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
