package commands

import (
	"slices"
	"testing"
	"time"

	"limitsrv/commands/session"
)

func TestClientKill(t *testing.T) {
	for _, tt := range []struct {
		line string // sent by a
		want string
		dead []string
		self bool // a is closing
	}{
		{"CLIENT KILL 127.0.0.1:2", "+OK|", []string{"b"}, false},
		{"CLIENT KILL 127.0.0.1:1", "+OK|", nil, true},
		{"CLIENT KILL 127.0.0.1:9", "-ERR No such client|", nil, false},
		{"CLIENT KILL ID 3", ":1|", []string{"c"}, false},
		{"CLIENT KILL ID 1", ":0|", nil, false},
		{"CLIENT KILL ID 1 SKIPME no", ":1|", nil, true},
		{"CLIENT KILL LADDR 127.0.0.1:6379", ":2|", []string{"b", "c"}, false},
		{"CLIENT KILL TYPE normal SKIPME no", ":3|", []string{"b", "c"}, true},
		{"CLIENT KILL TYPE pubsub", ":0|", nil, false},
		{"CLIENT KILL ADDR 127.0.0.1:2 ID 3", ":0|", nil, false},
		{"CLIENT KILL USER default ADDR 127.0.0.1:2", ":1|", []string{"b"}, false},
	} {
		h := newTestHandler("")
		var dead []string
		var first *session.Session
		for i, name := range []string{"a", "b", "c"} {
			s := h.NewSession(session.Client{
				Addr: "127.0.0.1:" + string(rune('1'+i)), LocalAddr: "127.0.0.1:6379", Since: time.Now(),
				Close: func() { dead = append(dead, name) },
			})
			if first == nil {
				first = s
			}
		}
		if got := ask(first, tt.line); got != tt.want || !slices.Equal(dead, tt.dead) || first.Closing() != tt.self {
			t.Errorf("%s: %s, closed %v, itself %v; want %s, %v, %v", tt.line, got, dead, first.Closing(), tt.want, tt.dead,
				tt.self)
		}
	}
}

func TestClosedSessionsAreForgotten(t *testing.T) {
	h := newTestHandler("")
	s := h.NewSession(session.Client{})
	h.NewSession(session.Client{}).Close()
	if n := len(h.Sessions()); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
	s.Close()
	if n := len(h.Sessions()); n != 0 {
		t.Errorf("%d sessions, want 0", n)
	}
}
