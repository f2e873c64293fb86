package commands

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/resp"
	"limitsrv/commands/session"
)

func TestQueueIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name string
		arg  string
		want int // commands queued
	}{
		{"by count", "a", 16_384},
		{"by bytes", strings.Repeat("a", 1<<20), 15},
	} {
		s := newTestSession(&fakeExec{}, "", nil)
		ask(s, "MULTI")
		args := [][]byte{[]byte("ECHO"), []byte(tt.arg)}
		queued := 0
		for ; queued <= tt.want; queued++ {
			s.Do(args)
			s.Flush()
			if string(s.Out) != "+QUEUED\r\n" {
				break
			}
			s.Out = s.Out[:0]
		}
		if queued != tt.want {
			t.Errorf("%s: %d commands were queued, want %d", tt.name, queued, tt.want)
		}
		if got := string(s.Out); !strings.HasPrefix(got, "-ERR transaction is too large") {
			t.Errorf("%s: then %.60q", tt.name, got)
		}
		s.Out = nil
		if got := ask(s, "EXEC", "EXEC"); !strings.HasPrefix(got, "-EXECABORT") ||
			!strings.HasSuffix(got, "-ERR EXEC without MULTI|") {
			t.Errorf("%s: EXEC answers %s", tt.name, got)
		}
	}
}

// TestQueuesTogetherAreBounded: many clients with large transactions can not queue without end. Small
// transactions pass, and large transactions pass when the other clients have gone.
func TestQueuesTogetherAreBounded(t *testing.T) {
	h := newTestHandler("")
	large := [][]byte{[]byte("ECHO"), bytes.Repeat([]byte("a"), 1<<20)}
	fill := func(s *session.Session) (queued int, refusal string) {
		ask(s, "MULTI")
		for ; queued < 10; queued++ {
			s.Do(large)
			if s.Flush(); string(s.Out) != "+QUEUED\r\n" {
				refusal = string(s.Out)
				break
			}
			s.Out = s.Out[:0]
		}
		s.Out = nil
		return queued, refusal
	}
	var all []*session.Session
	total, refusal := 0, ""
	for range 20 {
		s := h.NewSession(session.Client{})
		all = append(all, s)
		queued, wrong := fill(s)
		if total += queued; wrong != "" {
			refusal = wrong
		}
	}
	if total < 40 || total > 80 || !strings.HasPrefix(refusal, "-ERR transaction is too large while other clients") {
		t.Errorf("%d MB are queued; then %q", total, refusal)
	}
	last := all[len(all)-1]
	if got := ask(last, "EXEC", "MULTI", "ECHO a", "EXEC"); !strings.HasPrefix(got, "-EXECABORT") ||
		!strings.HasSuffix(got, "|+OK|+QUEUED|*1|$1|a|") {
		t.Errorf("a small transaction: %s", got)
	}
	for i, s := range all[:len(all)-1] {
		if i%2 == 0 {
			s.Close()
		} else {
			ask(s, "DISCARD")
		}
	}
	if queued, wrong := fill(last); queued != 10 {
		t.Errorf("without other transactions %d MB are queued, then %q", queued, wrong)
	}
}

func TestWatchIsBounded(t *testing.T) {
	s := newTestHandler("").NewSession(session.Client{})
	full := "WATCH" + strings.Repeat(" k", 1024)
	if got, want := ask(s, full, "WATCH k", "UNWATCH", full),
		"+OK|-ERR too many watched keys: at most 1024|+OK|+OK|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestWatchesTogetherAreBounded: many clients can not watch many long keys without end. Few keys are
// always accepted, and many when the other clients have gone, or have ended their transactions.
func TestWatchesTogetherAreBounded(t *testing.T) {
	h := newTestHandler("")
	line := "WATCH"
	for i := range 1000 {
		line += fmt.Sprintf(" %d%s", i, strings.Repeat("k", 1000))
	}
	var all []*session.Session
	accepted := 0
	for range 80 {
		s := h.NewSession(session.Client{})
		all = append(all, s)
		if got := ask(s, line); got == "+OK|" {
			accepted++
		} else if !strings.HasPrefix(got, "-ERR too many watched keys: the keys of all") {
			t.Fatalf("the reply is %.100q", got)
		}
	}
	if accepted < 40 || accepted > 70 {
		t.Errorf("%d of %d clients watch many keys", accepted, len(all))
	}
	last := all[len(all)-1]
	if got := ask(last, "WATCH few"); got != "+OK|" {
		t.Errorf("few keys: %s", got)
	}
	for i, s := range all[:len(all)-1] {
		switch i % 3 {
		case 0:
			s.Close()
		case 1:
			ask(s, "UNWATCH")
		default:
			ask(s, "MULTI", "EXEC")
		}
	}
	for range 80 {
		if got := ask(last, line, "UNWATCH"); got != "+OK|+OK|" {
			t.Fatalf("without other clients: %.100q", got)
		}
	}
}

func TestExecIsOneAtomicBatch(t *testing.T) {
	f := &fakeExec{}
	s := newTestSession(f, "", nil)
	line := []byte("DEL a1")
	ask(s, "DEL before", "MULTI")
	s.Do([][]byte{line[:3], line[4:]})
	s.Flush()
	copy(line, "??? bb") // the transport reuses its memory
	s.Out = nil
	if got, want := ask(s, "PING", "DEL", "DEL c d"),
		"+QUEUED|-ERR wrong number of arguments for 'del' command|+QUEUED|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := ask(s, "EXEC"); !strings.HasPrefix(got, "-EXECABORT") {
		t.Errorf("EXEC = %s", got)
	}
	line = []byte("DEL a1")
	ask(s, "MULTI")
	s.Do([][]byte{line[:3], line[4:]})
	s.Flush()
	copy(line, "??? bb")
	s.Out = nil
	if got, want := ask(s, "ECHO x", "DEL c d", "EXEC", "DEL after"), "+QUEUED|+QUEUED|*3|:1|$1|x|:2|:1|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := strings.Join(f.batches, ","), "before,a1 c d!,after"; got != want {
		t.Errorf("batches %s, want %s", got, want)
	}
}

func TestExecAborted(t *testing.T) {
	f := &fakeExec{}
	s := newTestSession(f, "", nil)
	if got, want := ask(s, "WATCH same changed", "MULTI", "DEL a", "PING", "EXEC", "MULTI", "DEL a", "EXEC"),
		"+OK|+OK|+QUEUED|+QUEUED|*-1|+OK|+QUEUED|*1|:1|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := strings.Join(f.batches, ","), "same changed,same changed a!,a!"; got != want {
		t.Errorf("batches %s, want %s", got, want)
	}
}

// The Exec may answer WATCH later: the next commands wait.
func TestWatchInFlight(t *testing.T) {
	f := &fakeExec{held: make(chan struct{})}
	woken := make(chan struct{}, 1)
	s := newTestSession(f, "", func() { woken <- struct{}{} })
	back := func() {
		t.Helper()
		f.held <- struct{}{}
		<-woken
		s.Resume()
	}
	s.Do(words("DEL a"))
	if s.Do(words("WATCH k l")) {
		t.Fatal("Do(WATCH) = true, want it to wait for the batch before it")
	}
	back()
	line := []byte("WATCH k l")
	if !s.Do([][]byte{line[:5], line[6:7], line[8:]}) {
		t.Fatal("Do(WATCH) = false, want it taken")
	}
	if s.Do(words("MULTI")) || s.Flush() || s.Resume() {
		t.Error("the session continues while WATCH is in flight")
	}
	if got := string(s.Out); got != ":1\r\n" {
		t.Errorf("replies before WATCH is back: %q", got)
	}
	back()
	copy(line, "????? ? ?") // the transport reuses its memory
	for _, l := range []string{"MULTI", "DEL b", "EXEC"} {
		if !s.Do(words(l)) {
			t.Errorf("Do(%s) = false", l)
		}
	}
	back()
	if got, want := strings.ReplaceAll(string(s.Out), "\r\n", "|"), ":1|+OK|+OK|+QUEUED|*1|:1|"; got != want {
		t.Errorf("replies %s, want %s", got, want)
	}
	if got, want := strings.Join(f.batches, ","), "a,k l,k l b!"; got != want {
		t.Errorf("batches %s, want %s", got, want)
	}
}

// A WATCH that fails watches nothing.
func TestWatchFails(t *testing.T) {
	f := &fakeExec{}
	s := newTestSession(f, "", nil)
	for _, tt := range []struct {
		name, keys, want string
		err              error
	}{
		{"with the batch", "k", "-UNCERTAIN who knows|", resp.NewError("UNCERTAIN", "who knows")},
		{"with an internal error", "k", "-ERR internal error|", errors.New("secret")},
		{"without a majority", "k down", "-CLUSTERDOWN the cluster has no leader with a quorum|", nil},
	} {
		f.err = tt.err
		if got := ask(s, "WATCH "+tt.keys); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
		before := len(f.batches)
		if got := ask(s, "MULTI", "EXEC"); got != "+OK|*0|" || len(f.batches) > before {
			t.Errorf("%s: EXEC answers %s after batches %q, want no watched key", tt.name, got, f.batches[before:])
		}
	}
}

// TestRepliesInTransaction: CLIENT REPLY works at its place in a transaction, as in Redis. The
// array then has fewer elements than its head says.
func TestRepliesInTransaction(t *testing.T) {
	for _, tt := range []struct{ lines, want string }{
		{"MULTI|CLIENT REPLY OFF|SET k v|EXEC|PING", "+OK|+QUEUED|+QUEUED|*2|"},
		{"MULTI|SET k v|CLIENT REPLY OFF|CLIENT REPLY ON|EXEC|PING", "+OK|+QUEUED|+QUEUED|+QUEUED|*3|+OK|+OK|+PONG|"},
		{"MULTI|CLIENT REPLY SKIP|SET k v|EXEC|PING|PING", "+OK|+QUEUED|+QUEUED|*2|+OK|+PONG|"},
		{"CLIENT REPLY OFF|MULTI|SET k v|CLIENT REPLY ON|SET k w|EXEC|PING", "+OK|+OK|+PONG|"},
		{"CLIENT REPLY OFF|SET k v|PING|CLIENT REPLY ON", "+OK|"},
		{"CLIENT REPLY OFF|SUBSCRIBE c|SUBSCRIBE|UNSUBSCRIBE c|CLIENT REPLY ON",
			"*3|$9|subscribe|$1|c|:1|*3|$11|unsubscribe|$1|c|:0|+OK|"},
	} {
		s := newTestHandler("").NewSession(session.Client{Wake: func() {}})
		if got := ask(s, strings.Split(tt.lines, "|")...); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.lines, got, tt.want)
		}
	}
}
