package server

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"limitsrv/commands/resp"
)

// trailingCommands are commands that a page would like to have executed, in all forms.
var trailingCommands = "COUNT orders\r\n" + array("COUNT", "orders") + "COUNT orders\n"

// httpRequests are the first lines that a browser, a probe or a proxy sends.
var httpRequests = []struct{ name, line string }{
	{"a form", "POST / HTTP/1.1\r\nHost: localhost:6379\r\nContent-Type: text/plain\r\n\r\n"},
	{"a form of HTTP/1.0", "POST /x HTTP/1.0\r\n\r\n"},
	{"a method in small letters", "post / http/1.1\r\n"},
	{"POST alone", "POST\r\n"},
	{"POST in quotes", "\"POST\" x\r\n"},
	{"POST with a quote left open", "POST /' HTTP/1.1\r\n"},
	{"a header", "Host: x\r\n"},
	{"a header without a blank", "hOST:127.0.0.1:6379\r\n"},
	{"a page", "GET / HTTP/1.1\r\n"},
	{"a page with quotes in its address", "GET /?'a'\"b HTTP/1.1\r\n"},
	{"a page of HTTP/0.9", "GET /FLUSHALL\r\n"},
	{"a page by a proxy", "GET http://x/ HTTP/1.1\r\n"},
	{"PUT", "PUT /a HTTP/1.1\r\n"}, {"DELETE", "DELETE /a HTTP/1.1\r\n"}, {"HEAD", "HEAD / HTTP/1.1\r\n"},
	{"a preflight", "OPTIONS / HTTP/1.1\r\n"}, {"all options", "OPTIONS * HTTP/1.1\r\n"},
	{"PATCH", "PATCH /a HTTP/1.1\r\n"}, {"TRACE", "TRACE / HTTP/1.1\r\n"},
	{"a tunnel", "CONNECT 127.0.0.1:6379 HTTP/1.1\r\n"},
	{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
	{"a method that is a command", "OP /key HTTP/1.1\r\n"},
	{"a method with a quote", "OP'x' /key HTTP/1.1\r\n"},
	{"an array", array("POST", "/")},
	{"an array of a header", array("host:", "x")},
	{"blanks before it", "  POST / HTTP/1.1 \r\n"},
	{"no carriage returns", "GET / HTTP/1.1\nHost: x\n\n"},
}

// Nothing after a line of HTTP is executed, however the bytes are segmented; the commands
// before it are answered.
func TestHTTPExecutesNothing(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		want := "-ERR " + resp.ProblemHTTP + "\r\n"
		sent := 0
		for _, tt := range httpRequests {
			for _, before := range []string{"", array("OP", "a"), "OP a\r\n", array("SLOW", "a")} {
				for _, cut := range []int{1 << 20, 7, 1} {
					nc := r.dial()
					go trickleAll(nc, before+tt.line+trailingCommands, cut)
					got, _ := io.ReadAll(nc)
					nc.Close()
					sent++
					// If bytes were left unread, the connection ends with a reset, and
					// replies may be lost.
					if full := replyTo(before) + want; !strings.HasPrefix(full, string(got)) || cut == 1<<20 && string(got) != full {
						t.Errorf("%s after %q in segments of %d: answered %q, want %q", tt.name, before, cut, got, full)
					}
				}
			}
		}
		until(t, "all are counted", func() bool { return r.Stats().RejectedHTTP == int64(sent) })
		nc := r.dial()
		send(t, nc, array("COUNT", "x"))
		var answered int
		reply := make([]byte, 64)
		n, err := nc.Read(reply)
		if _, scanErr := fmt.Sscanf(string(reply[:n]), "$%d\r\n%d", new(int), &answered); err != nil || scanErr != nil {
			t.Fatalf("COUNT answered %q, %v", reply[:n], err)
		}
		if want := sent*3/4 + 1; answered != want { // three of four tests send a command before the HTTP
			t.Errorf("%d commands were executed, want %d", answered, want)
		}
		until(t, "it is logged", func() bool { return strings.Contains(r.log.String(), "HTTP on a port for Redis clients") })
	})
}

// trickleAll writes in, at most size bytes at a time, and then closes its side.
func trickleAll(nc net.Conn, in string, size int) {
	trickle(nc, in, size)
	halfClose(nc)
}

// replyTo returns the reply to a command of echo.
func replyTo(command string) string {
	if command == "" {
		return ""
	}
	return bulk("a")
}

// HTTP methods that begin like arrays are detected too.
func TestHTTPMethodsOfOtherShapes(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		for _, method := range []string{"*1", "*0", "*-1", "$4", "*", "'OP", "`", "!", "&", "|"} {
			for _, cut := range []int{1 << 20, 1} {
				nc := r.dial()
				go trickleAll(nc, method+" /x HTTP/1.1\r\nHost: x\r\n\r\n"+trailingCommands, cut)
				_, _ = io.ReadAll(nc)
				nc.Close()
			}
		}
		if n := r.echo.answered.Load(); n != 0 {
			t.Errorf("%d commands were executed, want none", n)
		}
	})
}

// A TLS handshake on the plain port executes nothing, wherever its bytes are split.
func TestTLSHelloExecutesNothing(t *testing.T) {
	for _, loops := range []int{1, -1} {
		r := start(t, Config{Loops: loops})
		for cut := 1; cut < 8; cut++ {
			nc := r.dial()
			in := "\x16\x03\x01\x02\x00\x01\x00\r\n" + trailingCommands
			go func(nc net.Conn) {
				_, _ = io.WriteString(nc, in[:cut])
				trickleAll(nc, in[cut:], len(in))
			}(nc)
			_, _ = io.ReadAll(nc)
			nc.Close()
		}
		if n := r.echo.answered.Load(); n != 0 {
			t.Errorf("%d commands were executed, want none", n)
		}
	}
}

// Words that look like HTTP are arguments if they are not a line of it.
func TestNotHTTP(t *testing.T) {
	r := start(t, Config{Loops: 1})
	nc := r.dial()
	for _, in := range []string{
		"OP HTTP/1.1\r\n", "OP POST\r\n", "OP Host:\r\n", "OP GET /\r\n", "GETS /x\r\n", "GET x\r\n", "POSTS x\r\n",
		"HOST x\r\n",
		array("GET", "/x", "HTTP/1.1"), array("OP", "POST / HTTP/1.1\r\nHost: x\r\n"),
	} {
		send(t, nc, in+array("OP", "sentinel"))
		if got := readUntil(t, nc, bulk("sentinel")); strings.Contains(got, "-ERR") {
			t.Errorf("%q: answered %q", in, got)
		}
	}
	if n := r.Stats().RejectedHTTP; n != 0 {
		t.Errorf("%d connections counted, want none", n)
	}
}

// readUntil reads until the input ends in end.
func readUntil(t *testing.T, nc net.Conn, end string) string {
	t.Helper()
	var got []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(got), end); got = append(got, b...) {
		if _, err := io.ReadFull(nc, b); err != nil {
			t.Fatalf("read %q, %v, want %q at its end", got, err, end)
		}
	}
	return string(got)
}
