package commands

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"limitsrv/commands/session"
	"limitsrv/internal/testing/testwait"
)

// somePublishing returns a line of EVAL that publishes, raises errors, and writes.
func somePublishing(r *rand.Rand) string {
	var text strings.Builder
	for range 1 + r.IntN(4) {
		channel := fmt.Sprintf("'c%d'", r.IntN(3))
		fmt.Fprint(&text, []string{
			"redis.call('PUBLISH', " + channel + ", redis.call('INCR', KEYS[1])) ",
			"for i = 1, 3 do redis.pcall('publish', " + channel + ", i .. ARGV[1]) end ",
			"redis.pcall('PUBLISH', " + channel + ") ",
			"if redis.call('GET', KEYS[1]) then redis.call('PUBLISH', " + channel + ", 'is there') end ",
			"redis.call('DEL', KEYS[1]) ",
			"if redis.call('INCR', KEYS[2]) % 5 == 0 then error('no more') end ",
			"local f = redis.call f('PUBLISH', " + channel + ", '') ",
		}[r.IntN(7)])
	}
	return fmt.Sprintf("EVAL %q 2 a%d n%d x", text.String(), r.IntN(3), r.IntN(3))
}

// TestScriptMessagesLikeRedis compares the messages of random scripts with Redis', and where
// they come between the replies of a subscriber.
func TestScriptMessagesLikeRedis(t *testing.T) {
	seed := testwait.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	redis, h := startRedis(t), newTestHandler("")
	listener, sender := redis.pair(h), redis.pair(h)
	for _, line := range []string{"SUBSCRIBE c0 c1", "PSUBSCRIBE c*"} {
		if got, want := listener.ask(line, line); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: %s is answered %q, by Redis %q", seed, line, got, want)
		}
	}
	messages := 0
	for range 300 / testwait.Slowdown() {
		var lines []string
		if r.IntN(4) > 0 {
			lines = append(lines, somePublishing(r))
		} else {
			lines = append(lines, "MULTI", somePublishing(r), "INCR a1", somePublishing(r),
				[]string{"EXEC", "DISCARD"}[r.IntN(2)])
		}
		for _, line := range lines {
			if got, want := sender.ask(line, line); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d: %s is answered %q, by Redis %q", seed, line, got, want)
			}
		}
		got, want := listener.ask("PING", "PING") // Redis answers after the messages, and we before them
		messages += len(got) - 1
		first, rest := got[0], got[1:]
		if first != want[len(want)-1] || fmt.Sprint(rest) != fmt.Sprint(want[:len(want)-1]) {
			t.Fatalf("seed %d: after %q came %q, from Redis %q", seed, lines, got, want)
		}
	}
	if messages == 0 {
		t.Errorf("seed %d: no message was compared", seed)
	}
}

// TestScriptMessagesInOrder: messages come in the order of the applied scripts, which run
// at once, and before the answers of their scripts.
func TestScriptMessagesInOrder(t *testing.T) {
	h := newTestHandler("")
	listener := newListener(h, 0)
	ask(listener.Session, "SUBSCRIBE c")
	const writers = 8
	each := 3000 / testwait.Slowdown()
	var wait sync.WaitGroup
	for range writers {
		wait.Go(func() {
			s := h.NewSession(session.Client{})
			for range each {
				s.Do([][]byte{[]byte("EVAL"), []byte("return redis.call('PUBLISH', 'c', redis.call('INCR', KEYS[1]))"), []byte("1"),
					[]byte("n")})
				s.Flush()
			}
		})
	}
	wait.Wait()
	listener.Resume()
	got, err := readReplies(listener.Out)
	if err != nil {
		t.Fatal(err)
	}
	for i, message := range got {
		if want := fmt.Sprintf(`["message" "c" "%d"]`, i+1); message != want {
			t.Fatalf("message %d is %s, want %s", i+1, message, want)
		}
	}
	if len(got) != writers*each {
		t.Errorf("%d messages, want %d", len(got), writers*each)
	}
}
