package server

import (
	"strings"
	"testing"
	"time"

	"limitsrv/commands/session"
)

// drive passes in to a connection in segments of n bytes, as a transport does, and
// returns all output. A batch in flight comes back at once.
func drive(c *conn, w *workspace, in string, n int) (out string, last nextStep) {
	for len(in) > 0 && last != wantClose {
		c.borrow(w)
		size := copy(c.in.Space(), in[:min(n, len(in))])
		c.in.Filled(size)
		in = in[size:]
		for {
			if last = c.advance(batchOps); last == wantWake {
				for !c.session.Resume() {
					time.Sleep(time.Millisecond)
				}
				continue
			}
			o := c.session.Output()
			out += string(*o)
			*o = nil
			if last != wantWrite {
				break
			}
		}
		c.release(w)
	}
	return out, last
}

func TestConn(t *testing.T) {
	ops := strings.Repeat(array("OP", "x"), 5000)
	big := array("BIG", "200000")
	bigReply := bulk(string(make([]byte, 200000)))
	for _, tt := range []struct {
		name, in, want string
		last           nextStep
	}{
		{"a command", array("OP", "a"), bulk("a"), wantInput},
		{"a pipeline longer than a batch", ops, strings.Repeat(bulk("x"), 5000), wantInput},
		{"output longer than a batch", big + big + big + array("OP", "b"), bigReply + bigReply + bigReply + bulk("b"),
			wantInput},
		{"half a command", array("OP", "a") + "*2\r\n$2\r\nOP\r\n$5\r\nab", bulk("a"), wantInput},
		{"a batch in flight", array("OP", "a") + array("SLOW", "b") + array("OP", "c"), bulk("a") + bulk("b") + bulk("c"),
			wantInput},
		{"a command held while a batch is in flight", array("SLOW", "a") + array("NOW", "b") + array("OP", "c"),
			bulk("a") + bulk("b") + bulk("c"), wantInput},
		{"nothing after QUIT", array("OP", "a") + array("QUIT", "b") + array("OP", "c"), bulk("a") + bulk("b"), wantClose},
		{"an error after the replies to earlier commands", array("SLOW", "a") + array("OP", "b") + "*x\r\n",
			bulk("a") + bulk("b") + "-ERR Protocol error: invalid multibulk length\r\n", wantClose},
		{"the limits before AUTH", array("AUTH", "x") + array("OP", strings.Repeat("y", 20000)),
			bulk("x") + bulk(strings.Repeat("y", 20000)), wantInput},
		{"the limits without AUTH", array("OP", strings.Repeat("y", 20000)),
			"-ERR Protocol error: unauthenticated bulk length\r\n", wantClose},
	} {
		for _, n := range []int{1 << 20, 1, 7, 1000} {
			log := new(echoLog)
			log.password.Store(true)
			c := &conn{session: log.session(session.Client{Wake: func() {}}), limits: &DefaultLimits}
			got, last := drive(c, newWorkspace(), tt.in, n)
			if got != tt.want || last != tt.last {
				t.Errorf("%s, %d bytes at a time:\n got %.100q (%d), turn %d\nwant %.100q (%d), turn %d", tt.name, n, got, len(got),
					last, tt.want, len(tt.want), tt.last)
			}
		}
	}
}

func TestConnAllocatesNothing(t *testing.T) {
	in := []byte(strings.Repeat(array("RL.TOKEN", "user:1234567890", "100", "10/1s"), 100) + "*2\r\n$2\r\nO")
	rest := []byte("P\r\n$1\r\nx\r\n")
	w := newWorkspace()
	c := &conn{session: new(echoLog).session(session.Client{}), limits: &DefaultLimits}
	turnOver := func(in []byte) {
		c.borrow(w)
		c.in.Filled(copy(c.in.Space(), in))
		for c.advance(batchOps) != wantInput {
		}
		*c.session.Output() = nil
		c.release(w)
	}
	if got := testing.AllocsPerRun(100, func() { turnOver(in); turnOver(rest) }); got != 0 {
		t.Errorf("%v allocations per 101 commands, want 0", got)
	}
}

// A connection without work holds its struct, and at most the tail.
func TestIdleConnHoldsLittle(t *testing.T) {
	w := newWorkspace()
	c := &conn{session: new(echoLog).session(session.Client{}), limits: &DefaultLimits}
	drive(c, w, strings.Repeat(array("OP", strings.Repeat("x", 1000)), 200)+"*2\r\n$2\r\nOP\r\n", 3000)
	drive(c, w, "$1\r\nx\r\n", 1)
	if held := c.in.Held() + c.in.Room() + cap(*c.session.Output()); held > 1<<10 {
		t.Errorf("an idle connection holds %d bytes besides its struct, want at most 1024", held)
	}
}
