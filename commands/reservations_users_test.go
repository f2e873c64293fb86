package commands

import (
	"bytes"
	"testing"

	"limitsrv/commands/reservations"
	"limitsrv/commands/session"
)

// ownUsers are a user of the keys below a: and of the domain a:llm, and a user of all keys.
const ownUsers = `users:
  - name: a
    hash: "#pw"
    groups: [decide, peek]
    keys: ["a:*", "rule:a:llm"]
  - name: boss
    hash: "#pw"
    groups: [admin]
    keys: ["*"]
`

// linesOfReservations are lines of a user of the keys below a:, by the name of the call that they make. Each name has
// a line on a reservation or a key of the user, and most names have a line on a reservation or a key of another user.
var linesOfReservations = map[string][]string{
	"RL.RESERVE": {"RL.RESERVE a:id 60s FIXED a:key 99 1h 1", "RL.RESERVE a:new 60s FIXED a:key 99 1h 1",
		"RL.RESERVE b:id 60s FIXED a:key 99 1h 1", "RL.RESERVE a:more 60s FIXED b:key 99 1h 1"},
	"RL.EXTEND":   {"RL.EXTEND a:id 60s", "RL.EXTEND a:id 60s BY 2", "RL.EXTEND a:id 60s BY 98", "RL.EXTEND b:id 60s"},
	"RL.RESERVED": {"RL.RESERVED a:id", "RL.RESERVED a:key", "RL.RESERVED b:id"},
	"RL.RESERVED KEY": {"RL.RESERVED KEY a:key", "RL.RESERVED KEY a:key COUNT 1", "RL.RESERVED KEY a:key CURSOR 1",
		"RL.RESERVED KEY b:key", "RL.RESERVED KEY a:id"},
	"ONCE": {"RL.FIXED a:key 99 1h 1 ONCE a:once", "RL.FIXED a:key 99 1h 1 ONCE b:id",
		"RL.FIXED a:key 99 1h 1 ONCE a:id"},
	"RL.COMMIT": {"RL.COMMIT a:id 1 2 3", "RL.COMMIT a:id 1", "RL.COMMIT a:id 1", "RL.COMMIT b:id 1"},
	"RL.RESERVE amounts": {"RL.CHECK a:llm tenant t HITS in=5 out=1 RESERVE a:named 60s",
		"RL.CHECK a:llm tenant t HITS in=5 RESERVE b:named 60s", "RL.CHECK b:llm tenant t HITS in=5 RESERVE a:more 60s"},
	"RL.COMMIT amounts": {"RL.COMMIT a:id in=1", "RL.COMMIT a:named inn=1", "RL.COMMIT a:named out=1 in=2",
		"RL.COMMIT a:named in=2 out=1", "RL.COMMIT b:id in=1"},
	"RL.CANCEL": {"RL.CANCEL a:id", "RL.CANCEL a:new", "RL.CANCEL b:id"},
}

// namedRules are a domain of the user and a domain of another user.
const namedRules = "domain: \"a:llm\"\nrules:\n- {name: spend, per: [tenant], limits: [99/h weights in=1 out=2]}\n" +
	"---\ndomain: \"b:llm\"\nrules:\n- {name: spend, per: [tenant], limits: [99/h weights in=1 out=2]}\n"

// TestReservationsHideNames: no answer to a call on reservations has a key or an id that matches no pattern of
// the user, and no call changes a reservation with such an id. The user's reservation has a limit below b:, and the
// reservation b:id has a limit of the user.
func TestReservationsHideNames(t *testing.T) {
	for number := range uint16(16) {
		if name := reservations.CallName(4<<12 + number); name != "" && len(linesOfReservations[name]) == 0 {
			t.Errorf("%s has no lines", name)
		}
	}
	h, err := newTestHandlerOf("", func() string { return withHashes(t, ownUsers) })
	if err != nil {
		t.Fatal(err)
	}
	woken := make(chan struct{}, 1)
	boss := loggedIn(t, h, "boss", session.Client{Wake: func() { woken <- struct{}{} }})
	user := loggedIn(t, h, "a", session.Client{})
	send := func(s *session.Session, lines ...string) []byte {
		s.Out = s.Out[:0]
		for _, line := range lines {
			s.Do(words(line))
		}
		s.Flush()
		return bytes.Clone(s.Out)
	}
	load(t, boss, woken, namedRules)
	send(boss, "RL.RESERVE a:id 60s FIXED a:key 99 1h 1 FIXED b:key 99 1h 1", "RL.RESERVE b:id 60s FIXED a:key 99 1h 1")
	before := send(boss, "RL.RESERVED b:id")
	for _, hello := range []string{"HELLO 2", "HELLO 3"} {
		for _, name := range []string{"RL.RESERVED", "RL.RESERVED KEY", "RL.RESERVE", "RL.EXTEND", "ONCE",
			"RL.RESERVE amounts", "RL.COMMIT amounts", "RL.COMMIT", "RL.CANCEL"} {
			for _, line := range linesOfReservations[name] {
				send(user, hello)
				for _, got := range [][]byte{send(user, line), send(user, "MULTI", line, "EXEC")} {
					if bytes.Contains(got, []byte("b:")) {
						t.Errorf("%s: %s is answered %q", hello, line, got)
					}
				}
			}
		}
	}
	if after := send(boss, "RL.RESERVED b:id"); !bytes.Equal(after, before) {
		t.Errorf("b:id is %q, was %q", after, before)
	}
	if got := send(boss, "RL.RESERVED KEY a:key"); !bytes.Contains(got, []byte("b:id")) {
		t.Errorf("a user of all keys is answered %q", got)
	}
}
