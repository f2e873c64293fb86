package server

import (
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// onLoop calls read on the loop of a server that has one.
func onLoop[T any](r *rig, read func(*loop) T) T {
	result := make(chan T)
	r.plain.(*loops).all[0].submit(task{nil, func(l *loop, _ *loopConn) { result <- read(l) }})
	return <-result
}

// dialStreams connects clients from which the ring receives.
func dialStreams(t *testing.T, r *rig, n int) []net.Conn {
	t.Helper()
	all := make([]net.Conn, n)
	for i := range all {
		all[i] = r.dial()
		send(t, all[i], array("OP", "x"))
		expect(t, all[i], bulk("x"))
	}
	if refused := onLoop(r, func(l *loop) bool { return l.streams.ring == nil }); refused {
		t.Skip("the kernel refuses io_uring: " + r.log.String())
	}
	until(t, "the ring receives from all", func() bool {
		return onLoop(r, func(l *loop) int { return l.streams.active }) == n
	})
	return all
}

// hold keeps the loop busy until the returned function is called.
func hold(t *testing.T, r *rig) (release func()) {
	t.Helper()
	first := r.dial()
	send(t, first, array("BARRIER", "x"))
	<-r.echo.barrier
	return func() {
		r.echo.barrier <- struct{}{}
		expect(t, first, bulk("x"))
	}
}

// More bytes than the ring has room for are received all the same, and the connections come
// back to the ring.
func TestBuffersOfRingRunOut(t *testing.T) {
	r := startWith(t, Config{Loops: withRing}, &echoLog{barrier: make(chan struct{})})
	all := dialStreams(t, r, 3*ringBuffers)
	release := hold(t, r)
	large := strings.Repeat("z", maxStreamed-1000)
	in := strings.Repeat(array("OP", large), 4)
	for _, nc := range all {
		go nc.Write([]byte(in))
	}
	release()
	for _, nc := range all {
		expect(t, nc, strings.Repeat(bulk(large), 4))
	}
	for _, nc := range all {
		for range 3 {
			send(t, nc, array("OP", "y"))
			expect(t, nc, bulk("y"))
		}
	}
}

// A socket takes part of a reply that is sent together with others.
func TestRingSendsPartOfReply(t *testing.T) {
	r := startWith(t, Config{Loops: withRing}, &echoLog{barrier: make(chan struct{})})
	all := dialStreams(t, r, 4)
	release := hold(t, r)
	for i, nc := range all {
		if i%2 == 0 {
			send(t, nc, array("OP", "a"))
		} else {
			send(t, nc, array("BIG", "9000000")+array("OP", "b"))
		}
	}
	release()
	for i, nc := range all {
		if i%2 == 0 {
			expect(t, nc, bulk("a"))
		} else {
			expect(t, nc, bulk(string(make([]byte, 9000000)))+bulk("b"))
		}
	}
}

// Connections that come and go leave no receive behind, and descriptors that are used again
// belong to the new connection only.
func TestRingAndConnectionsThatGo(t *testing.T) {
	r := start(t, Config{Loops: withRing})
	stays := dialStreams(t, r, 1)[0]
	for turn := range 100 {
		nc := r.dial()
		send(t, nc, array("OP", "a"))
		expect(t, nc, bulk("a"))
		send(t, nc, array("OP", "b"))
		expect(t, nc, bulk("b"))
		if turn%2 == 0 {
			nc.Close()
			continue
		}
		send(t, nc, array("QUIT", "c")+array("OP", "d"))
		expect(t, nc, bulk("c"))
		if n, err := nc.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Fatalf("turn %d: after QUIT: %d bytes, %v, want the end", turn, n, err)
		}
	}
	send(t, stays, array("OP", "e"))
	expect(t, stays, bulk("e"))
	until(t, "the ring receives from the one that stays", func() bool {
		return onLoop(r, func(l *loop) int { return l.streams.active }) == 1
	})
}

// A loop without a ring uses epoll, and logs why.
func TestRefusedRing(t *testing.T) {
	r := start(t, Config{Loops: 1})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const perThread = 16 // rings that the kernel registers
	for range perThread {
		ring, err := openRing()
		if err != nil {
			t.Skip("the kernel refuses io_uring:", err)
		}
		defer ring.close()
	}
	files := openFiles()
	l := &loop{env: &env{cfg: Config{Ring: true}, log: r.env.log}}
	l.openStreams()
	if l.streams.ring != nil || !strings.Contains(r.log.String(), "io_uring is not available") {
		t.Errorf("more rings than a thread may have: %v, logged %q", l.streams.ring, r.log)
	}
	if n := openFiles(); n != files {
		t.Errorf("%d descriptors are left", n-files)
	}
}

// The last completion of a connection that is gone does not end the receive of the next with
// its descriptor.
func TestLateCompletionOfRing(t *testing.T) {
	r := start(t, Config{Loops: withRing})
	nc := dialStreams(t, r, 1)[0]
	state := onLoop(r, func(l *loop) streamState {
		for _, c := range l.conns {
			if c != nil {
				l.streams.active++
				l.complete(completion{tag: c.stream.tag - 1<<32, res: -int32(syscall.ECANCELED)})
				return c.stream.state
			}
		}
		return streamOff
	})
	if state != streamOn {
		t.Errorf("the receive is in state %d, want %d", state, streamOn)
	}
	send(t, nc, array("OP", "a"))
	expect(t, nc, bulk("a"))
}
