package server

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// listen opens a connection that listens.
func (r *rig) listen() net.Conn {
	nc := r.dial()
	send(r.t, nc, array("LISTEN", "x"))
	expect(r.t, nc, bulk("x"))
	return nc
}

// A message wakes up an idle connection, in any state of waiting.
func TestPush(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		idle, halfway, listening := r.listen(), r.listen(), r.listen()
		send(t, halfway, "*2\r\n$2\r\nOP\r\n$3\r\nab") // an incomplete command
		other := r.dial()
		for i := range 200 {
			word := strconv.Itoa(i) + ";"
			send(t, other, array("PUBLISH", word))
			expect(t, other, bulk(word))
			expect(t, idle, word)
			expect(t, halfway, word)
			expect(t, listening, word)
		}
		send(t, halfway, "c\r\n")
		expect(t, halfway, bulk("abc"))
		send(t, idle, array("OP", "still there"))
		expect(t, idle, bulk("still there"))
	})
}

// Several clients publish while the listener sends commands and has batches in flight: no
// message is lost, and each is between replies.
func TestPushUnderLoad(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		listener := r.listen()
		const tellers, words, asked = 4, 300, 300
		for i := range tellers {
			nc := r.dial()
			name := string(rune('a' + i))
			go func() { _, _ = io.WriteString(nc, strings.Repeat(array("PUBLISH", name), words)) }()
			go func() { _, _ = io.Copy(io.Discard, nc) }()
		}
		go func() {
			_, _ = io.WriteString(listener, strings.Repeat(array("OP", "op")+array("SLOW", "slow"), asked))
		}()
		want := tellers*words + asked*(len(bulk("op"))+len(bulk("slow")))
		got := make([]byte, want)
		if n, err := io.ReadFull(listener, got); err != nil {
			t.Fatalf("%d of %d bytes, %v", n, want, err)
		}
		text := string(got)
		for i := range tellers {
			// each name is a letter that no reply contains
			if n := strings.Count(strings.NewReplacer(bulk("op"), "", bulk("slow"), "").Replace(text),
				string(rune('a'+i))); n != words {
				t.Errorf("%d words of %c, want %d", n, 'a'+i, words)
			}
		}
	})
}

// A listener that does not read is closed because of its output; other clients are not
// delayed.
func TestPushToClientThatNeverReads(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops, Limits: Limits{OutputBytes: 1 << 20}, WriteTimeout: time.Second})
		deaf, good := r.listen(), r.listen()
		if err := tcpConn(deaf).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		other := r.dial()
		word := strings.Repeat("w", 50_000)
		for range 400 {
			send(t, other, array("PUBLISH", word))
			expect(t, other, bulk(word))
			expect(t, good, word)
		}
		until(t, "the client that does not read is closed", func() bool { return r.echo.closed.Load() == 1 })
	})
}

func TestListenerIsNeverIdle(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		idle := testwait.Scaled(100 * time.Millisecond)
		r := start(t, Config{Loops: loops})
		listener := r.listen()
		r.SetIdleTimeout(idle)
		expectEnd(t, r.dial(), "")
		time.Sleep(2 * idle)
		r.SetIdleTimeout(0) // on a busy machine the next client may be silent for long
		send(t, r.dial(), array("PUBLISH", "you"))
		expect(t, listener, "you")
	})
}

// A drain closes listeners, too.
func TestDrainClosesListeners(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		listener := r.listen()
		go func() {
			ctx := t.Context()
			_ = r.Shutdown(ctx)
		}()
		expectEnd(t, listener, "")
	})
}
