package commands

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/engine"
)

// TestLongAnswersForFronts: the answers to a front's transaction have a bound together, and wait while
// the room for answers is full.
func TestLongAnswersForFronts(t *testing.T) {
	h := newTestHandler("")
	s := h.NewSession(session.Client{Wake: func() {}})
	for i := range 2000 {
		ask(s, fmt.Sprintf("SET %01000d 1", i))
	}
	one := backend.Line{Args: words("KEYS *")}
	single, err := h.Answer(context.Background(), backend.Asked{Lines: []backend.Line{one}})
	if err != nil {
		t.Fatal(err)
	}
	q := backend.Asked{InExec: true}
	for range 2 + 2*engine.MaxAnswerBytes/len(single[0]) {
		q.Lines = append(q.Lines, one)
	}
	replies, err := h.Answer(context.Background(), q)
	sum := 0
	for _, r := range replies {
		sum += len(r)
	}
	last := string(replies[len(replies)-1])
	if err != nil || len(replies) != len(q.Lines) || sum > engine.MaxAnswerBytes*11/10 ||
		!strings.HasPrefix(last, "-ERR the answers of") {
		t.Errorf("%d lines of %d bytes are answered with %d bytes, the last with %.60q: %v", len(q.Lines), len(single[0]),
			sum, last, err)
	}
	h.Room().Add(session.RoomBytes)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := h.Answer(ctx, q); err != context.Canceled {
		t.Errorf("without room the answer is %v, want to wait until the context ends", err)
	}
	used := h.Room().Used()
	h.Room().Add(-session.RoomBytes)
	if used != session.RoomBytes {
		t.Errorf("after a call that gave up, %d bytes are used, want %d", used, session.RoomBytes)
	}
}

// TestQuestionsEnd: a question of a front to another node ends with the session, and when the server
// drains.
func TestQuestionsEnd(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*session.Session)
	}{
		{"when the client goes", (*session.Session).Close},
		{"when the server drains", func(s *session.Session) { s.Handler().Drain() }},
	} {
		var asked context.Context
		ask := func(ctx context.Context, _ backend.Asked, _ func([][]byte, error)) { asked = ctx }
		s := newTestHandlerWith(session.Config{Ask: ask}).NewSession(session.Client{Wake: func() {}})
		s.Do(words("WAIT 2 0"))
		s.Flush()
		if asked == nil || asked.Err() != nil {
			t.Fatalf("%s: the question is %v before", tt.name, asked)
		}
		if tt.end(s); asked.Err() == nil {
			t.Errorf("%s: the question does not end", tt.name)
		}
	}
}
