package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"limitsrv/commands/resp"
	"limitsrv/internal/testing/testwait"
)

// A holdingConn keeps the bytes that are written while hold is set, and does not send them.
type holdingConn struct {
	net.Conn
	hold bool
	held []byte
}

func (c *holdingConn) Write(p []byte) (int, error) {
	if c.hold {
		c.held = append(c.held, p...)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// helloThenHold sends the client's hello, and keeps the bytes that are written after it.
type helloThenHold struct{ *holdingConn }

func (c helloThenHold) Write(p []byte) (int, error) {
	n, err := c.holdingConn.Write(p)
	c.hold = true
	return n, err
}

// A command that arrives with the end of the handshake is answered, although crypto/tls has
// read it during the handshake.
func TestTLSCommandWithTheHandshake(t *testing.T) {
	r := start(t, Config{Loops: overTLS})
	conn := &holdingConn{Conn: r.dialPlain()}
	nc := tls.Client(helloThenHold{conn}, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	if err := nc.Handshake(); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.Write([]byte(array("OP", "a"))); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Conn.Write(conn.held); err != nil {
		t.Fatal(err)
	}
	expect(t, nc, bulk("a"))
}

// A recorded connection has received all its input.
type recorded struct {
	*bytes.Reader
	net.Conn
}

func (r recorded) Read(p []byte) (int, error) { return r.Reader.Read(p) }

// pipedTLS returns the layer of a connection after its handshake, the client, and the
// connection that gets the client's records.
func pipedTLS(t *testing.T) (*tlsLayer, *tls.Conn, *holdingConn) {
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	records := &holdingConn{Conn: there}
	client := tls.Client(records, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
	_ = there.SetDeadline(testwait.Soon(testTimeout))
	shaken := make(chan error, 1)
	go func() { shaken <- client.Handshake() }()
	below := &throttledConn{Conn: here}
	layer := &tlsLayer{tls: tls.Server(below, newTLS(t))}
	if err := layer.tls.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	below.Conn, records.hold = layer, true
	return layer, client, records
}

// Records come out as they went in, however the ciphertext is cut, and the layer keeps no
// memory between calls.
func TestTLSLayerOpensAnyPieces(t *testing.T) {
	layer, client, records := pipedTLS(t)
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	var want []byte
	for range 300 {
		size := 1 + random.IntN(200)
		if random.IntN(20) == 0 {
			size = random.IntN(70_000)
		}
		part := bytes.Repeat([]byte{byte(random.Uint32())}, size)
		want = append(want, part...)
		if _, err := client.Write(part); err != nil {
			t.Fatal(err)
		}
	}
	var (
		in   resp.Reader
		sum  int
		left = records.held
	)
	for len(left) > 0 {
		piece := left[:min(len(left), 1+random.IntN(1<<random.IntN(17)))]
		left = left[len(piece):]
		n, err := layer.open(piece, &in)
		if err != nil {
			t.Fatalf("open: %v (seed %d)", err, seed)
		}
		if sum += n; in.Held() != sum || layer.received != nil || layer.sealed != nil {
			t.Fatalf("%d bytes opened, %d in the reader, %d and %d kept (seed %d)", sum, in.Held(), len(layer.received),
				len(layer.sealed), seed)
		}
	}
	if sum != len(want) {
		t.Errorf("%d bytes opened, want %d (seed %d)", sum, len(want), seed)
	}
}

// The output of a wake-up is sealed into the memory that is lent, and opens to the same text.
func TestTLSLayerSeals(t *testing.T) {
	layer, client, records := pipedTLS(t)
	lent := make([]byte, 100, 1<<10)
	sealed := layer.seal([]byte("answer"), lent)
	if &sealed[0] != &lent[0] {
		t.Error("a small answer is sealed in memory of its own")
	}
	large := strings.Repeat("x", 100_000)
	sealed = append(sealed, layer.seal([]byte(large), nil)...)
	records.Conn = recorded{bytes.NewReader(sealed), records.Conn}
	got := make([]byte, len("answer")+len(large))
	for n := 0; n < len(got); {
		k, err := client.Read(got[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	if string(got) != "answer"+large {
		t.Error("the client reads something else")
	}
}

// A client that ends TLS and leaves its socket open has its commands answered and is then
// closed.
func TestTLSEndBeforeTheSocket(t *testing.T) {
	r := start(t, Config{Loops: overTLS})
	conn := &holdingConn{Conn: r.dialPlain()}
	nc := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	if err := nc.Handshake(); err != nil {
		t.Fatal(err)
	}
	conn.hold = true
	if _, err := nc.Write([]byte(array("OP", "a"))); err != nil {
		t.Fatal(err)
	}
	if err := nc.CloseWrite(); err != nil { // in the same segment
		t.Fatal(err)
	}
	_ = nc.SetDeadline(testwait.Soon(testTimeout)) // CloseWrite has set a deadline that has passed
	if _, err := conn.Conn.Write(conn.held); err != nil {
		t.Fatal(err)
	}
	expectEnd(t, nc, bulk("a"))
}

// A drain reads all of a command, also when a read ends before a record does: the buffer of
// the first part of a command leaves less room than a record needs.
func TestTLSDrainReadsWholeRecords(t *testing.T) {
	const rest = 32_000 // two records
	echo := &echoLog{barrier: make(chan struct{})}
	limits := Limits{Limits: resp.Limits{ArgBytes: 1 << 20}}
	r := startWith(t, Config{Loops: overTLS, Limits: limits}, echo)
	blocker, want, sent := r.dial(), map[net.Conn]string{}, 0
	for size := 64_000; size < 120_000; size += 2000 {
		nc, text := r.dial(), strings.Repeat("x", size)
		want[nc] = bulk(text)
		first := array("OP", text)[:len(array("OP", text))-rest]
		sent += len(first)
		send(t, nc, first)
	}
	until(t, "the first parts are read", func() bool { return r.Stats().InputBytes == int64(sent) })
	send(t, blocker, array("BARRIER"))
	<-echo.barrier
	for nc, reply := range want {
		send(t, nc, reply[len(reply)-rest:])
		untilReceived(t, nc)
	}
	down := make(chan error, 1)
	go func() { down <- r.Shutdown(context.Background()) }()
	until(t, "the drain waits for the loop", func() bool {
		nc, err := net.Dial("tcp", r.address().String())
		if err == nil {
			nc.Close()
		}
		return err != nil
	})
	echo.barrier <- struct{}{}
	for nc, reply := range want {
		expectEnd(t, nc, reply)
	}
	if err := <-down; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}
