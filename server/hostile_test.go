package server

import (
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostile returns inputs that have crashed, hung or exhausted similar servers.
func hostile() []struct{ name, in string } {
	noise := make([]byte, 1<<20)
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	claim := "$16000\r\n" + strings.Repeat("x", 16000) + "\r\n"
	return []struct{ name, in string }{
		{"a length that wraps around", "*1\r\n$9223372036854775807\r\n"},
		{"a count for ever", "*4000000000000000000\r\n"},
		{"a count of a milliard", "*1000000000\r\n"},
		{"a count that wraps around to 1", "*18446744073709551617\r\n$4\r\nPING\r\n"},
		{"many arguments", "*16384\r\n" + strings.Repeat("$1\r\nx\r\n", 16383)},
		{"a large query", "*64\r\n" + strings.Repeat(claim, 63)},
		{"a claim of a large query", "*16384\r\n$65536\r\n"},
		{"an inline command of blanks", strings.Repeat(" ", 1<<20)},
		{"an inline command of words", strings.Repeat("a ", 30000) + "\r\n"},
		{"an inline command of quotes", strings.Repeat(`"\x41" `, 9000) + "\r\n"},
		{"empty commands", strings.Repeat("*0\r\n*-1\r\n\r\n", 100000)},
		{"commands with no bytes", strings.Repeat("*1\r\n$0\r\n\r\n", 100000)},
		{"noise", string(noise)},
		{"noise behind a count", "*5\r\n$10\r\n" + string(noise)},
		{"HTTP", "POST / HTTP/1.1\r\nHost: x\r\n\r\n"},
		{"zeroes", strings.Repeat("\x00", 1<<20)},
	}
}

// maxMemory bounds the growth of the test process, including the clients and their
// inputs.
const maxMemory = 200 << 20

// resident returns the approximate memory of the process. The runtime returns memory to
// the system slowly, so a recent peak is included.
func resident() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys - m.HeapReleased
}

// No bytes stop the server, before login or after, in segments of any size.
func TestHostileBytes(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		debug.FreeOSMemory()
		before := resident()
		r := start(t, Config{Loops: loops})
		for _, password := range []bool{true, false} {
			r.echo.password.Store(password)
			witness := r.dial()
			var attackers sync.WaitGroup
			for _, h := range hostile() {
				for _, size := range []int{1 << 20, 1000, 1} {
					nc := r.dial()
					in := h.in
					if size == 1 {
						in = in[:min(len(in), 3000)]
					}
					attackers.Go(func() { attack(nc, in, size) })
				}
			}
			attackers.Wait()
			if got := resident(); got > before+maxMemory {
				t.Errorf("password %v: memory grew from %d bytes to %d, want at most %d more", password, before, got, maxMemory)
			}
			send(t, witness, array("OP", "a"))
			expect(t, witness, bulk("a"))
			witness.Close()
			until(t, "all attackers are gone", func() bool { return r.Stats().Clients == 0 })
		}
		if got := r.log.String(); strings.Contains(got, "panic") {
			t.Errorf("logged %q, want no panic", got)
		}
	})
}

// attack sends in until the server closes the connection, and reads all answers.
func attack(nc net.Conn, in string, size int) {
	go func() {
		trickle(nc, in, size)
		halfClose(nc)
	}()
	_, _ = io.Copy(io.Discard, nc)
	nc.Close()
}

// A hundred thousand segments of a byte on a single connection take linear time.
func TestSlowDrip(t *testing.T) {
	forEachTransport(t, func(t *testing.T, loops int) {
		r := start(t, Config{Loops: loops})
		nc := r.dial()
		many := make([]string, 7100)
		for i := range many {
			many[i] = "x"
		}
		in := array(many...) + strings.Repeat(array("OP", "abc"), 2300)
		began := time.Now()
		go trickle(nc, in, 1)
		expect(t, nc, bulk("x")+strings.Repeat(bulk("abc"), 2300))
		t.Logf("%d segments in %v", len(in), time.Since(began))
	})
}
