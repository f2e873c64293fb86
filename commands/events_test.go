package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/auth/users"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/session"
	"limitsrv/internal/status"
	"limitsrv/internal/testing/testwait"
)

// noted are the events that a sink got, as text.
type noted struct{ all []string }

func (n *noted) Note(all []checks.Event, request func() *rules.Request) {
	for _, e := range all {
		n.all = append(n.all, fmt.Sprintf("%v %s of %v", e.Kind, e.Key, e.Rule.Attributes(request(), e.Descriptor)))
	}
}

func (*noted) Status() status.Events { return status.Events{On: true} }

func (*noted) Keys() [][]byte { return [][]byte{[]byte("limitsrv:told"), []byte("limitsrv:events")} }

// TestUsersOfEventKeys: a warning names the users whose wide patterns let them write the keys of events.
func TestUsersOfEventKeys(t *testing.T) {
	file := "users:\n"
	for _, user := range []struct{ name, groups, keys string }{
		{"any", "write", `"*"`}, {"lists", "list, decide", `"*:events"`}, {"marks", "sortedset", `"x", "l*d"`},
		{"others", "write", `"app:*"`}, {"limits", "decide, peek", `"*"`}, {"reads", "read", `"*"`},
		{"boss", "admin", `"*"`}, {"taker", "list", `"*", "limitsrv:events"`},
	} {
		file += fmt.Sprintf("- {name: %s, hash: '#pw', groups: [%s], keys: [%s]}\n", user.name, user.groups, user.keys)
	}
	file = withHashes(t, file)
	load := func() (*users.Table, error) { return users.Parse("f", []byte(file)) }
	table, err := load()
	if err != nil {
		t.Fatal(err)
	}
	for sink, want := range map[session.EventSink]string{nil: "", new(noted): `users="[any lists marks]"`} {
		var log testwait.Log
		h := newTestHandlerWith(session.Config{Users: table, LoadUsers: load, Events: sink, Log: log.Logger()})
		if err := h.ReloadUsers(); err != nil {
			t.Fatal(err)
		}
		if text := log.String(); strings.Contains(text, "level=WARN") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("the log is %s, want %q", text, want)
		}
	}
}

// eventChecker returns a session on a node that notes events.
func eventChecker(t *testing.T) (*noted, *session.Handler, *session.Session) {
	n := new(noted)
	h := newTestHandlerWith(session.Config{Events: n})
	woken := make(chan struct{}, 1)
	s := h.NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
	load(t, s, woken, `domain: api
rules:
  - {name: user, per: [user], limits: [2/day events, 1000000/h]}
  - {name: many, per: [many], limits: [1000000/day events]}
`)
	return n, h, s
}

// TestEventsOfCommands: every way to ask has events with the attributes of its own request, also in a
// pipeline and in a transaction.
func TestEventsOfCommands(t *testing.T) {
	n, h, s := eventChecker(t)
	const near, exhausted = "near rule:api|user|%[1]s#FIXED:fixed-day of [{user %[1]s}]",
		"exhausted rule:api|user|%[1]s#FIXED:fixed-day of [{user %[1]s}]"
	for _, tt := range []struct {
		lines []string
		want  []string // formats with the user
		users []string
	}{
		{[]string{"RL.CHECK api user a", "RL.CHECK api user b HITS 2", "RL.CHECK api user a", "RL.CHECK api user c HITS 3"},
			[]string{near, near, exhausted}, []string{"b", "a", "c"}},
		{[]string{"MULTI", "RL.CHECK api user d HITS 2", "RL.SETTLE api user e BY 2", "EXEC"},
			[]string{near, near}, []string{"d", "e"}},
		{[]string{"RL.CHECK api user a PEEK", "RL.CHECK api many a", "RL.CHECK api none a"}, nil, nil},
	} {
		n.all = nil
		ask(s, tt.lines...)
		var want []string
		for i, format := range tt.want {
			want = append(want, fmt.Sprintf(format, tt.users[i]))
		}
		if !slices.Equal(n.all, want) {
			t.Errorf("%q: events %q, want %q", tt.lines, n.all, want)
		}
	}
	n.all = nil
	q := &checks.Request{}
	q.Reset([]byte("api"))
	d := q.AddDescriptor()
	d.Entries = append(d.Entries, rules.Entry{Key: []byte("user"), Value: []byte("f")})
	q.Hits = 2
	c := session.Call{Account: h.Logins().Initial()}
	if err := h.Check(context.Background(), c, q, func(*checks.Answer) {}); err != nil {
		t.Fatal(err)
	}
	if want := []string{fmt.Sprintf(near, "f")}; !slices.Equal(n.all, want) {
		t.Errorf("of another protocol: events %q, want %q", n.all, want)
	}
}

// TestNoAllocationWithEvents: a request below its thresholds costs no allocation where events are noted.
func TestNoAllocationWithEvents(t *testing.T) {
	n, _, s := eventChecker(t)
	allocateNothing(t, s, "RL.CHECK api many a")
	if len(n.all) > 0 {
		t.Errorf("events %q, want no event", n.all)
	}
}
