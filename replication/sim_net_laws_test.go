package replication

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/internal/testing/testwait"
)

const testDelay = 10 * time.Millisecond // the delay of the tested simNet, and up to half more

// simTest runs a test in a bubble with a network of hosts a and b; b listens.
func simTest(t *testing.T, test func(t *testing.T, n *simNet, a, b *simHost, l net.Listener)) {
	synctest.Test(t, func(t *testing.T) {
		n := newSimNet(1, testDelay)
		a, b := n.host("a"), n.host("b")
		l, err := b.Listen("b:1")
		if err != nil {
			t.Fatal(err)
		}
		test(t, n, a, b, l)
		l.Close()
	})
}

// pair returns the two ends of a connection from a host to a listener.
func pair(t *testing.T, from *simHost, l net.Listener) (near, far net.Conn) {
	t.Helper()
	near, err := from.Dial(context.Background(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return near, far
}

// arrives reads n bytes and returns the time it took and its error.
func arrives(c net.Conn, n int) (time.Duration, error) {
	start := time.Now()
	_, err := io.ReadFull(c, make([]byte, n))
	return time.Since(start), err
}

func TestSimNetDelay(t *testing.T) {
	simTest(t, func(t *testing.T, n *simNet, a, b *simHost, l net.Listener) {
		start := time.Now()
		near, far := pair(t, a, l)
		if took := time.Since(start); took < 2*testDelay || took > 3*testDelay {
			t.Errorf("Dial took %v, want 2 to 3 times %v", took, testDelay)
		}
		n.setExtra("b", "a", time.Second)
		near.Write([]byte("there"))
		if took, err := arrives(far, 5); err != nil || took < testDelay || took > 3*testDelay/2 {
			t.Errorf("bytes took %v, %v; want %v to half more", took, err, testDelay)
		}
		far.Write([]byte("back"))
		if took, err := arrives(near, 4); err != nil || took < time.Second || took > time.Second+2*testDelay {
			t.Errorf("bytes over a slow link took %v, %v; want a second and %v", took, err, testDelay)
		}
		near.Close()
		far.Close()
		if len(n.conns) > 0 || len(n.link("a", "b").streams) > 0 {
			t.Errorf("%d connections are left, and %d streams", len(n.conns), len(n.link("a", "b").streams))
		}
	})
}

// Random pieces pass through cuts: all bytes arrive in order, and writers wait for
// readers.
func TestSimNetOrder(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	simTest(t, func(t *testing.T, n *simNet, a, b *simHost, l net.Listener) {
		rng := rand.New(rand.NewPCG(seed, 1))
		sent := make([]byte, 3*streamBytes)
		for i := range sent {
			sent[i] = byte(rng.Uint32())
		}
		near, far := pair(t, a, l)
		var wait sync.WaitGroup
		wait.Go(func() {
			for left := sent; len(left) > 0; {
				piece := min(len(left), 1+rng.IntN(20_000))
				if _, err := near.Write(left[:piece]); err != nil {
					t.Errorf("Write: %v", err)
					return
				}
				left = left[piece:]
			}
			near.Close()
		})
		wait.Go(func() {
			for i := range 20 {
				time.Sleep(3 * time.Millisecond)
				n.setCut("a", "b", i%2 == 0)
			}
		})
		time.Sleep(time.Second)
		synctest.Wait()
		if near.(*simConn).out.bytes != streamBytes {
			t.Errorf("%d bytes are under way, want %d", near.(*simConn).out.bytes, streamBytes)
		}
		if got, err := io.ReadAll(far); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d bytes arrived, %v; not the %d sent", len(got), err, len(sent))
		}
		wait.Wait()
		far.Close()
	})
}

func TestSimNetCut(t *testing.T) {
	simTest(t, func(t *testing.T, n *simNet, a, b *simHost, l net.Listener) {
		near, far := pair(t, a, l)
		near.Write([]byte("1")) // is under way when the cut comes
		n.setCut("a", "b", true)
		near.Write([]byte("2"))
		far.SetReadDeadline(time.Now().Add(time.Hour))
		if took, err := arrives(far, 1); !errors.Is(err, os.ErrDeadlineExceeded) || took != time.Hour {
			t.Errorf("a read over a cut: %v after %v, want the deadline after an hour", err, took)
		}
		far.Write([]byte("back"))
		if _, err := arrives(near, 4); err != nil {
			t.Errorf("a read over the direction that is not cut: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if _, err := a.Dial(ctx, "b:1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial over a cut: %v, want the deadline", err)
		}
		time.AfterFunc(time.Minute, func() { n.setCut("a", "b", false) })
		far.SetReadDeadline(time.Time{})
		if took, err := arrives(far, 2); err != nil || took < time.Minute+testDelay || took > time.Minute+2*testDelay {
			t.Errorf("bytes over a repaired link: %v after %v, want a minute and %v", err, took, testDelay)
		}
		near.Close()
		far.Close()
	})
}

func TestSimNetEnds(t *testing.T) {
	for _, tt := range []struct {
		name              string
		end               func(n *simNet, near net.Conn, a *simHost)
		read, write, dial error // of b; nil: waits for its deadline
	}{
		{"Close", func(_ *simNet, near net.Conn, _ *simHost) { near.Close() }, io.EOF, syscall.EPIPE, syscall.ECONNREFUSED},
		{"Close behind a cut", func(n *simNet, near net.Conn, _ *simHost) { n.setCut("a", "b", true); near.Close() }, nil,
			nil, nil},
		{"a repaired cut before Close", func(n *simNet, near net.Conn, _ *simHost) {
			n.setCut("a", "b", true)
			near.Close()
			n.setCut("a", "b", false)
		}, io.EOF, syscall.EPIPE, syscall.ECONNREFUSED},
		{"Close while the peer is cut off", func(n *simNet, near net.Conn, _ *simHost) {
			n.setCut("b", "a", true)
			near.Close()
			n.setCut("b", "a", false)
		}, io.EOF, syscall.EPIPE, syscall.ECONNREFUSED},
		{"reset", func(n *simNet, _ net.Conn, _ *simHost) { n.reset("b", "a") }, syscall.ECONNRESET, syscall.ECONNRESET,
			syscall.ECONNREFUSED},
		{"reset of others", func(n *simNet, _ net.Conn, _ *simHost) { n.reset("c", "a") }, nil, nil, syscall.ECONNREFUSED},
		{"end of the process", func(_ *simNet, _ net.Conn, a *simHost) { a.crash(true) }, syscall.ECONNRESET,
			syscall.ECONNRESET, syscall.ECONNREFUSED},
		{"end of the power", func(_ *simNet, _ net.Conn, a *simHost) { a.crash(false) }, nil, nil, nil},
		{"a restart", func(n *simNet, _ net.Conn, a *simHost) {
			a.crash(false)
			l, _ := n.host("a").Listen("a:2")
			l.Close()
		}, syscall.ECONNRESET, syscall.ECONNRESET, syscall.ECONNREFUSED},
	} {
		simTest(t, func(t *testing.T, n *simNet, a, b *simHost, l net.Listener) {
			near, far := pair(t, a, l)
			tt.end(n, near, a)
			far.SetDeadline(time.Now().Add(time.Minute))
			if _, err := arrives(far, 1); !errors.Is(err, orDeadline(tt.read)) {
				t.Errorf("%s: the peer reads %v, want %v", tt.name, err, tt.read)
			}
			var err error
			for err == nil { // until it is refused, or the stream is full
				_, err = far.Write(make([]byte, 1000))
			}
			if !errors.Is(err, orDeadline(tt.write)) {
				t.Errorf("%s: the peer writes %v, want %v", tt.name, err, tt.write)
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if _, err := b.Dial(ctx, "a:1"); tt.dial != nil && !errors.Is(err, tt.dial) || tt.dial == nil && ctx.Err() == nil {
				t.Errorf("%s: the peer dials %v, want %v", tt.name, err, tt.dial)
			}
			far.Close()
			near.Close()
			n.repair([]string{"a", "b"})
		})
	}
}

// orDeadline returns err, or a deadline error instead of nil.
func orDeadline(err error) error {
	if err == nil {
		return os.ErrDeadlineExceeded
	}
	return err
}

func TestSimNetListener(t *testing.T) {
	simTest(t, func(t *testing.T, n *simNet, a, b *simHost, l net.Listener) {
		dial := func() error {
			c, err := a.Dial(context.Background(), "b:1")
			if err == nil {
				c.Close()
			}
			return err
		}
		if _, err := b.Listen("b:1"); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a second Listen: %v", err)
		}
		if _, err := b.Listen("a:1"); !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Errorf("Listen for another host: %v", err)
		}
		n.setListening("b:1", false)
		if err := dial(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Dial without a listener: %v", err)
		}
		n.setListening("b:1", true)
		waiting, err := a.Dial(context.Background(), "b:1")
		if err != nil {
			t.Errorf("Dial: %v", err)
		}
		time.AfterFunc(time.Second, func() { l.Close() })
		c, _ := l.Accept()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept of a closed listener: %v", err)
		}
		waiting.Close()
		c.Close()
		if err := dial(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Dial after Close: %v", err)
		}
		b.crash(true)
		if _, err := b.Listen("b:1"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Listen after a crash: %v", err)
		}
		if _, err := b.Dial(context.Background(), "a:1"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Dial after a crash: %v", err)
		}
	})
}
