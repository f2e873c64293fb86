package server

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/session"
	"limitsrv/internal/testing/testwait"
)

// dialPlain connects without TLS to the TLS port.
func (r *rig) dialPlain() net.Conn {
	r.t.Helper()
	nc, err := net.Dial("tcp", r.TLSAddr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { nc.Close() })
	_ = nc.SetDeadline(testwait.Soon(testTimeout))
	return nc
}

// pendingHandshakes returns the number of handshakes under way.
func (r *rig) pendingHandshakes() int {
	r.secure.mu.Lock()
	defer r.secure.mu.Unlock()
	return len(r.secure.handshakes)
}

// Clients that stay silent in the handshake do not count as clients and delay other clients
// only briefly, even if there are more than slots; their slots become free.
func TestSilentClientsBeforeHandshake(t *testing.T) {
	r := start(t, Config{Loops: overTLS, MaxClients: 2})
	var silent []net.Conn
	for range maxHandshakes + 50 {
		silent = append(silent, r.dialPlain())
	}
	nc := r.dial()
	send(t, nc, array("OP", "a"))
	expect(t, nc, bulk("a"))
	if n := r.pendingHandshakes(); n > maxHandshakes {
		t.Errorf("%d handshakes are under way, want at most %d", n, maxHandshakes)
	}
	if st := r.Stats(); st.Clients != 1 || st.Rejected != 0 {
		t.Errorf("Stats() = %+v, want one client and none rejected", st)
	}
	until(t, "displaced handshakes are counted", func() bool { return r.Stats().FailedHandshakes >= 50 })
	expectEnd(t, silent[0], "")
	for _, nc := range silent {
		nc.Close()
	}
	until(t, "all slots are free", func() bool { return r.pendingHandshakes() == 0 })
	until(t, "it is logged", func() bool { return strings.Contains(r.log.String(), displaced) })
}

// Input that is not TLS fails the handshake and is counted; a plain command gets a reply.
func TestGarbageOnTLSPort(t *testing.T) {
	r := start(t, Config{Loops: overTLS})
	noise := make([]byte, 4096)
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	noise[0] = 0x80 // otherwise it is a TLS record in one of 64 cases
	hello := "\x16\x03\x01"
	for i, tt := range []struct{ name, in, logged string }{
		{"a command", array("PING"), notTLS},
		{"noise", string(noise), notTLS},
		{"a record that is too long", hello + "\xff\xff" + string(noise), "oversized"},
		{"a record of noise", hello + "\x10\x00" + string(noise), "tls: "},
		{"an empty record", hello + "\x00\x00" + strings.Repeat("\x00", 100), "tls: "},
	} {
		nc := r.dialPlain()
		send(t, nc, tt.in)
		reply, _ := io.ReadAll(nc)
		if tt.name == "a command" && string(reply) != plainOnTLSReply {
			t.Errorf("%s (seed %d): answered %q, want %q", tt.name, seed, reply, plainOnTLSReply)
		}
		until(t, tt.name+" is counted", func() bool { return r.Stats().FailedHandshakes == int64(i+1) })
		until(t, tt.name+" is logged", func() bool { return strings.Contains(r.log.String(), tt.logged) })
	}
	r.dialPlain().Close()
	until(t, "a closed connection is counted", func() bool { return r.Stats().FailedHandshakes == 6 })
}

// A TLS client on the plain port is closed at once, and logged.
func TestTLSOnThePlainPort(t *testing.T) {
	for _, loops := range []int{1, -1} {
		r := start(t, Config{Loops: loops})
		for range 5 {
			nc := r.dial()
			err := tls.Client(nc, &tls.Config{InsecureSkipVerify: true}).Handshake()
			if err == nil || !strings.Contains(err.Error(), "does not look like a TLS handshake") {
				t.Errorf("the handshake ends with %v", err)
			}
		}
		until(t, "it is logged", func() bool { return strings.Contains(r.log.String(), "TLS handshakes on the plain port") })
		if n := strings.Count(r.log.String(), "plain port"); n > 2 {
			t.Errorf("logged %d times within a moment", n)
		}
	}
}

func TestSampledLog(t *testing.T) {
	var log testwait.Log
	logger := log.Logger()
	c := sampledLog{text: "it happened"}
	c.flush(logger)
	for range 3 {
		for range 100 {
			c.add("someone", "reason")
		}
		c.flush(logger)
	}
	if got := log.String(); strings.Count(got, "it happened") != 1 ||
		!strings.Contains(got, "times=100 client=someone why=reason") {
		t.Errorf("logged %q, want the first hundred", got)
	}
	pass := func() {
		for _, about := range c.sites {
			about.logged = about.logged.Add(-logEvery)
		}
		c.flush(logger)
	}
	pass()
	if got := log.String(); !strings.Contains(got, "times=200") {
		t.Errorf("logged %q, want the other events later", got)
	}
	before := strings.Count(log.String(), "it happened")
	for i := range 10 * maxSites {
		c.add(fmt.Sprintf("10.0.0.%d:1", i), "reason")
		c.add(fmt.Sprintf("10.0.0.%d:2", i), "reason")
	}
	c.flush(logger)
	if got := strings.Count(log.String(), "it happened") - before; got != maxSites {
		t.Errorf("logged %d lines about many sites, want %d: one for each of %d, and one for the rest", got, maxSites,
			maxSites-1)
	}
	pass()
	pass()
	if len(c.sites) != 0 {
		t.Errorf("%d sites are kept, want none", len(c.sites))
	}
}

// Our code allocates nothing over TLS; crypto/tls allocates 24 bytes for each read of a
// socket, here in the client and in the server.
func TestTLSAllocatesNothingPerCommand(t *testing.T) {
	r := start(t, Config{Loops: overTLS})
	nc := r.dial()
	of := func(commands int) float64 {
		in := []byte(strings.Repeat(array("RL.TOKEN", "user:1234567890", "100", "10/1s"), commands))
		out := make([]byte, commands*len(bulk("10/1s")))
		return testing.AllocsPerRun(200, func() {
			_, err := nc.Write(in)
			if err == nil {
				_, err = io.ReadFull(nc, out)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, commands := range []int{1, 100, 200} {
		const most = 6 // the reply may come in parts
		if got := of(commands); got > most {
			t.Errorf("%v allocations for %d commands, want at most %d", got, commands, most)
		} else {
			t.Logf("%v allocations for %d commands", got, commands)
		}
	}
}

// An idle connection over TLS holds little memory of ours, after any input.
func TestIdleTLSHoldsLittle(t *testing.T) {
	server, client := net.Pipe()
	defer client.Close()
	g := newGoroutines(&env{room: new(session.Room)})
	c := &goConn{conn: conn{session: new(echoLog).session(session.Client{}), limits: &DefaultLimits},
		socket: &socket{Conn: server}}
	c.nc = struct{ net.Conn }{c.socket} // differs from the socket, as TLS does
	large := array("OP", strings.Repeat("x", 1000))
	in := strings.Repeat(large, 200) + "*2\r\n$2\r\nOP\r\n" + "$1\r\nx\r\n"
	go trickle(client, in, 3000)
	for received, answered := 0, 0; answered < 201; {
		n, err := g.receive(c)
		if err != nil {
			t.Fatal(err)
		}
		received += n
		for c.advance(batchOps) != wantInput {
		}
		answered += strings.Count(string(*c.session.Output()), "$")
		*c.session.Output() = nil
		g.releaseBuffers(c)
		if received > len(in) {
			t.Fatalf("%d bytes were received of %d", received, len(in))
		}
	}
	if held := c.in.Held() + c.in.Room(); held > 1024 || c.input != nil {
		t.Errorf("it holds %d bytes besides its struct, want at most 1024", held)
	}
}

// Commands of all sizes around the first buffer of a connection are answered.
func TestTLSCommandsOfAllSizes(t *testing.T) {
	r := start(t, Config{Loops: overTLS})
	nc := r.dial()
	for size := range 256 {
		word := strings.Repeat("x", size)
		send(t, nc, array("OP", word))
		expect(t, nc, bulk(word))
	}
}

// A recordTypes records the types of the TLS records read, which are visible below TLS
// 1.3.
type recordTypes struct {
	net.Conn
	types  []byte
	unread int // bytes until the next record
}

func (a *recordTypes) Read(p []byte) (int, error) {
	head := make([]byte, 5)
	if a.unread == 0 {
		if _, err := io.ReadFull(a.Conn, head); err != nil {
			return 0, err
		}
		a.types = append(a.types, head[0])
		a.unread = int(head[3])<<8 | int(head[4])
		return copy(p, head), nil
	}
	n, err := a.Conn.Read(p[:min(a.unread, len(p))])
	a.unread -= n
	return n, err
}

// A connection over TLS ends with close_notify, so that the client can tell it from a
// truncation.
func TestTLSSendsCloseNotify(t *testing.T) {
	for name, end := range map[string]func(*rig, net.Conn){
		"QUIT":  func(r *rig, nc net.Conn) { send(t, nc, array("QUIT", "a")) },
		"drain": func(r *rig, nc net.Conn) { send(t, nc, array("OP", "a")); go r.Shutdown(t.Context()) },
	} {
		r := start(t, Config{Loops: overTLS})
		recorder := &recordTypes{Conn: r.dialPlain()}
		nc := tls.Client(recorder, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
		send(t, nc, array("OP", "b"))
		expect(t, nc, bulk("b"))
		end(r, nc)
		expectEnd(t, nc, bulk("a"))
		const alert = 21
		if last := recorder.types[len(recorder.types)-1]; last != alert {
			t.Errorf("%s: the last record is of kind %d, want an alert", name, last)
		}
	}
}

// A script is the input of a connection, part by part.
type script struct {
	net.Conn
	parts []string
}

func (s *script) SetReadDeadline(time.Time) error { return nil }

func (s *script) Read(p []byte) (int, error) {
	n := copy(p, s.parts[0])
	s.parts = s.parts[1:]
	return n, nil
}

// After its time is over, a drain ends with the first read that leaves room in its
// buffer.
func TestDrainSocket(t *testing.T) {
	s := &socket{Conn: &script{parts: []string{"ab", "cd", "e", "not looked for"}}}
	s.startDrain()
	s.drainUntil = time.Now().Add(-time.Second)
	room := make([]byte, 2)
	for _, want := range []string{"ab", "cd", "e"} {
		if n, err := s.Read(room); err != nil || string(room[:n]) != want {
			t.Errorf("read %q, %v, want %q", room[:n], err, want)
		}
	}
	if n, err := s.Read(room); n != 0 || err != io.EOF {
		t.Errorf("read %d bytes, %v, want the end", n, err)
	}
}
