package server

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/testwait"
)

// listen makes a connection listen.
func (r *rig) listen() net.Conn {
	nc := r.dial()
	send(r.t, nc, array("LISTEN", "x"))
	expect(r.t, nc, bulk("x"))
	return nc
}

// What others send wakes an idle connection up, in whatever it is waiting.
func TestPush(t *testing.T) {
	over(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		idle, halfway, listening := r.listen(), r.listen(), r.listen()
		send(t, halfway, "*2\r\n$2\r\nOP\r\n$3\r\nab") // a command is not complete
		other := r.dial()
		for i := range 200 {
			word := strconv.Itoa(i) + ";"
			send(t, other, array("TELL", word))
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

// Many tell at once, while the listener asks and has batches away: nothing is
// lost, in order for each that tells, and between replies.
func TestPushUnderLoad(t *testing.T) {
	over(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		listener := r.listen()
		const tellers, words, asked = 4, 300, 300
		for i := range tellers {
			nc := r.dial()
			name := string(rune('a' + i))
			go func() { _, _ = io.WriteString(nc, strings.Repeat(array("TELL", name), words)) }()
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
			// each name is one letter that no reply has
			if n := strings.Count(strings.NewReplacer(bulk("op"), "", bulk("slow"), "").Replace(text), string(rune('a'+i))); n != words {
				t.Errorf("%d words of %c, want %d", n, 'a'+i, words)
			}
		}
	})
}

// A listener that does not read is closed for its output; others don't wait for it.
func TestPushToClientThatNeverReads(t *testing.T) {
	over(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops, Limits: Limits{OutputBytes: 1 << 20}, WriteTimeout: time.Second})
		deaf, good := r.listen(), r.listen()
		if err := tcpOf(deaf).SetReadBuffer(4096); err != nil {
			t.Fatal(err)
		}
		other := r.dial()
		word := strings.Repeat("w", 50_000)
		for range 400 {
			send(t, other, array("TELL", word))
			expect(t, other, bulk(word))
			expect(t, good, word)
		}
		until(t, "the deaf one is closed", func() bool { return r.echo.closed.Load() == 1 })
	})
}

func TestListenerIsNeverIdle(t *testing.T) {
	over(t, func(t *testing.T, loops int) {
		idle := testwait.Scaled(100 * time.Millisecond)
		r := start(t, Config{Loops: loops, IdleTimeout: idle})
		listener, silent := r.listen(), r.dial()
		expectEnd(t, silent, "")
		time.Sleep(2 * idle)
		send(t, r.dial(), array("TELL", "you"))
		expect(t, listener, "you")
	})
}

// A drain closes those that listen, too.
func TestDrainClosesListeners(t *testing.T) {
	over(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		listener := r.listen()
		go func() {
			ctx := t.Context()
			_ = r.Shutdown(ctx)
		}()
		expectEnd(t, listener, "")
	})
}
