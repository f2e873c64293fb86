package commands

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/glob"
	"limitsrv/commands/session"
)

func TestScanIsBounded(t *testing.T) {
	h := newTestHandler("")
	s := h.NewSession(session.Client{})
	const keys = maxKeys + 1
	for i := range keys {
		s.Do([][]byte{[]byte("RL.TOKEN"), fmt.Appendf(nil, "key:%d", i), []byte("5"), []byte("1/h")})
		if s.Pending() == 1000 {
			s.Flush()
			s.Out = s.Out[:0]
		}
	}
	if got, want := ask(s, "DBSIZE", "KEYS *"),
		fmt.Sprintf("-ERR KEYS answers at most %d keys: use SCAN|", maxKeys); !strings.HasSuffix(got, want) {
		t.Errorf("KEYS * = %.100s, want %s", got, want)
	}
	if got := ask(s, "KEYS key:*77777"); got != "*1|$9|key:77777|" {
		t.Errorf("KEYS key:*77777 = %.100s", got)
	}
	if _, turns := h.Turns(); turns != 2 {
		t.Errorf("two KEYS of a large server have waited for %d turns", turns)
	}
	if got, want := ask(s, "MULTI", "KEYS none", "EXEC"),
		"*1|-ERR KEYS in a transaction needs"; !strings.Contains(got, want) {
		t.Errorf("KEYS in a transaction = %s, want %s", got, want)
	}
	seen := make(map[string]bool)
	for cursor, steps := "0", 0; ; steps++ {
		reply := strings.Split(ask(s, "SCAN "+cursor+" COUNT 1000000"), "|")
		found := reply[3 : len(reply)-1]
		if len(found)/2 > maxScan+1000 {
			t.Fatalf("SCAN answers %d keys, want about %d", len(found)/2, maxScan)
		}
		for i := 2; i < len(found); i += 2 {
			seen[found[i]] = true
		}
		if cursor = reply[2]; cursor == "0" {
			break
		}
		if steps > 100 {
			t.Fatal("SCAN does not end")
		}
	}
	if len(seen) != keys {
		t.Errorf("SCAN found %d of %d keys", len(seen), keys)
	}
}

// Long patterns and long keys make SCAN return earlier, and KEYS wait for a turn. Both find every key.
func TestPatternsAreBounded(t *testing.T) {
	h := newTestHandler("")
	s := h.NewSession(session.Client{})
	const keys = 1000
	long := strings.Repeat("a", 1000)
	for i := range keys {
		ask(s, fmt.Sprintf("RL.TOKEN %s%d 5 1/h", long, i))
	}
	pattern := "*" + strings.Repeat("?", 999) + "*"
	if got := ask(s, "KEYS "+pattern); !strings.HasPrefix(got, fmt.Sprintf("*%d|", keys)) {
		t.Errorf("KEYS = %.100s", got)
	}
	if _, turns := h.Turns(); turns != 1 {
		t.Errorf("KEYS with a long pattern has waited for %d turns, want 1", turns)
	}
	if got := ask(s, "MULTI", "KEYS "+pattern, "EXEC"); !strings.Contains(got, "*1|-ERR KEYS in a transaction needs") {
		t.Errorf("KEYS in a transaction = %.100s, want an error", got)
	}
	steps, found := 0, 0
	for cursor := "0"; ; {
		reply := strings.Split(ask(s, "SCAN "+cursor+" COUNT 10000 MATCH "+pattern), "|")
		steps++
		found += (len(reply) - 5) / 2
		if cursor = reply[2]; cursor == "0" || steps > keys {
			break
		}
	}
	if least := keys * len(long) * len(pattern) / 64 / maxScanWork / 2; steps < least || found != keys {
		t.Errorf("SCAN found %d keys in %d steps, want %d in %d or more", found, steps, keys, least)
	}
	tooLong := strings.Repeat("*", glob.MaxBytes+1)
	for _, line := range []string{"KEYS " + tooLong, "SCAN 0 MATCH " + tooLong} {
		if got := ask(s, line); !strings.HasPrefix(got, "-ERR a pattern is at most") {
			t.Errorf("%.20s... = %.100s", line, got)
		}
	}
}

func TestRandomKeyReachesEvery(t *testing.T) {
	s := newTestHandler("").NewSession(session.Client{})
	ask(s, "RL.TOKEN a 5 1", "RL.TOKEN b 5 1", "RL.TOKEN c 5 1")
	seen := make(map[string]bool)
	for range 1000 {
		seen[ask(s, "RANDOMKEY")] = true
	}
	if len(seen) != 3 {
		t.Errorf("1000 times RANDOMKEY answered %v, want a, b and c", seen)
	}
}
