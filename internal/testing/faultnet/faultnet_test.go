package faultnet

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

const a, b = "127.77.1.1", "127.77.1.2"

// soon is the limit for an event on an idle machine; still is how long tests check that an
// event does not happen.
const (
	soon  = 10 * time.Second
	still = 50 * time.Millisecond
)

// A pair is a connection from a to b over a network.
type pair struct {
	*Network
	dialer, host net.Conn
}

// newPair returns a network and a pair on it.
func join(t *testing.T) pair {
	t.Helper()
	n := New(a, b)
	t.Cleanup(n.Close)
	target, address := expose(t, n)
	p := pair{Network: n, dialer: dial(t, a, address)}
	p.host = accept(t, target)
	return p
}

// expose makes b listen, and the network forward to it.
func expose(t *testing.T, n *Network) (target net.Listener, address string) {
	t.Helper()
	target, err := net.Listen("tcp", b+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { target.Close() })
	address, err = n.Expose(b+":0", target.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return target, address
}

// dial connects from a host.
func dial(t *testing.T, host, address string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
	conn, err := d.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// accept accepts the next connection.
func accept(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	l.(*net.TCPListener).SetDeadline(testwait.Soon(soon))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// send writes a text.
func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// wantText waits for a text.
func arrives(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	conn.SetReadDeadline(testwait.Soon(soon))
	got := make([]byte, len(want))
	if n, err := io.ReadFull(conn, got); string(got[:n]) != want {
		t.Fatalf("%q has arrived, %v, want %q", got[:n], err, want)
	}
}

// wantNothing checks that neither data nor the end of the connection arrives.
func nothing(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(still))
	got := make([]byte, 100)
	if n, err := conn.Read(got); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%q has arrived, %v, want nothing", got[:n], err)
	}
}

// wantClosed waits for the end of a connection.
func gone(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(testwait.Soon(soon))
	if n, err := conn.Read(make([]byte, 100)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d bytes have arrived, %v, want the end", n, err)
	}
}

func TestCarriesBothWays(t *testing.T) {
	p := join(t)
	much := strings.Repeat("0123456789", 500_000)
	var wait sync.WaitGroup
	wait.Go(func() { io.WriteString(p.dialer, much) })
	arrives(t, p.host, much)
	send(t, p.host, "answer")
	arrives(t, p.dialer, "answer")
	wait.Wait()
	p.host.Close()
	gone(t, p.dialer)
}

func TestACutHoldsOneDirectionBack(t *testing.T) {
	p := join(t)
	p.Cut(a, b)
	send(t, p.dialer, "question")
	nothing(t, p.host)
	send(t, p.host, "answer")
	arrives(t, p.dialer, "answer")
	p.Heal()
	arrives(t, p.host, "question")
}

func TestTheEndOfAConnectionIsCutToo(t *testing.T) {
	p := join(t)
	p.Cut(a, b)
	p.dialer.Close()
	nothing(t, p.host)
	p.Heal()
	gone(t, p.host)
}

func TestAnEndThatIsGoneTakesNothing(t *testing.T) {
	p := join(t)
	send(t, p.dialer, "question")
	arrives(t, p.host, "question")
	p.host.(*net.TCPConn).SetLinger(0)
	p.host.Close()
	gone(t, p.dialer)
	testwait.Until(t, soon, "a write to an end that is gone fails", func() bool {
		_, err := io.WriteString(p.dialer, "more")
		return err != nil
	})
}

func TestIsolatedHostsAreNotReached(t *testing.T) {
	for _, host := range []string{a, b} {
		p := join(t)
		p.Isolate(host)
		send(t, p.dialer, "question")
		send(t, p.host, "answer")
		nothing(t, p.host)
		nothing(t, p.dialer)
		p.Heal()
		arrives(t, p.host, "question")
		arrives(t, p.dialer, "answer")
	}
}

func TestAnIsolatedHostReachesItself(t *testing.T) {
	n := New(a, b)
	defer n.Close()
	target, address := expose(t, n)
	n.Isolate(b)
	dialer := dial(t, b, address)
	host := accept(t, target)
	send(t, dialer, "question")
	arrives(t, host, "question")
	send(t, host, "answer")
	arrives(t, dialer, "answer")
}

func TestNewConnectionsAreCut(t *testing.T) {
	for _, d := range []direction{{a, b}, {b, a}} {
		n := New(a, b)
		defer n.Close()
		target, address := expose(t, n)
		n.Cut(d.from, d.to)
		dial(t, a, address)
		target.(*net.TCPListener).SetDeadline(time.Now().Add(still))
		if _, err := target.Accept(); err == nil {
			t.Errorf("a connection came through although %v is cut", d)
		}
		n.Heal()
		accept(t, target)
	}
}

func TestADelayIsOfEachDirection(t *testing.T) {
	const delay = 100 * time.Millisecond
	p := join(t)
	p.Delay(b, a, delay)
	lines := bufio.NewReader(p.dialer)
	for _, want := range []string{"one\n", "two\n"} {
		begin := time.Now()
		send(t, p.host, want)
		p.dialer.SetReadDeadline(testwait.Soon(soon))
		if got, err := lines.ReadString('\n'); got != want {
			t.Fatalf("%q has arrived, %v, want %q", got, err, want)
		}
		if took := time.Since(begin); took < delay {
			t.Errorf("%q has arrived after %v, want %v or more", want, took, delay)
		}
	}
}

func TestStrangersAreNotServed(t *testing.T) {
	n := New(a, b)
	defer n.Close()
	_, address := expose(t, n)
	gone(t, dial(t, "127.0.0.1", address))
}

func TestATargetThatDoesNotListen(t *testing.T) {
	n := New(a, b)
	defer n.Close()
	target, address := expose(t, n)
	target.Close()
	gone(t, dial(t, a, address))
}

func TestCloseEndsAll(t *testing.T) {
	p := join(t)
	p.Isolate(a)
	send(t, p.dialer, "question")
	p.Close()
	gone(t, p.dialer)
	gone(t, p.host)
	if _, err := p.Expose(b+":0", "127.0.0.1:1"); err == nil {
		t.Error("a closed network exposes another address")
	}
}
