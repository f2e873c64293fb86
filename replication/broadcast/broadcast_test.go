package broadcast

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"limitsrv/internal/testing/testwait"
)

// receivers are nodes that get messages over pipes.
type receivers struct {
	mu    sync.Mutex
	away  bool
	stuck bool // they read nothing
	got   map[string][]string
	conns []net.Conn
}

func (r *receivers) dial(_ context.Context, _, node string) (net.Conn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return nil, errors.New("away")
	}
	here, there := net.Pipe()
	r.conns = append(r.conns, there)
	if !r.stuck {
		go Receive(there, func(channel, message []byte) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.got[node] = append(r.got[node], string(channel)+" "+string(message))
		})
	}
	return here, nil
}

func (r *receivers) of(node string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.got[node]...)
}

// reset breaks all links.
func (r *receivers) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range r.conns {
		conn.Close()
	}
	r.conns = nil
}

func newSender(t *testing.T, r *receivers, nodes ...string) *Sender {
	r.got = make(map[string][]string)
	s := New(Options{Dial: r.dial, Timeout: time.Minute})
	t.Cleanup(s.Close)
	var all []Peer
	for _, node := range nodes {
		all = append(all, Peer{Node: node})
	}
	s.SetPeers(all)
	return s
}

const patience = 30 * time.Second

// All nodes get all messages in their order, also over a second link. A node that left gets no
// messages.
func TestOrder(t *testing.T) {
	var r receivers
	s := newSender(t, &r, "a", "b")
	send := func(from, to int) {
		for i := from; i < to; i++ {
			s.Send([]byte("c"), fmt.Append(nil, i))
		}
	}
	send(0, 300)
	for _, node := range []string{"a", "b"} {
		testwait.Until(t, patience, "node "+node+" has the messages", func() bool { return len(r.of(node)) == 300 })
	}
	r.reset()
	testwait.Until(t, patience, "both links work again", func() bool {
		s.Send([]byte("probe"), nil)
		return len(r.of("a")) > 300 && len(r.of("b")) > 300
	})
	s.SetPeers([]Peer{{Node: "a"}})
	send(300, 600)
	testwait.Until(t, patience, "node a has the last message", func() bool {
		got := r.of("a")
		return got[len(got)-1] == "c 599"
	})
	for node, want := range map[string]int{"a": 600, "b": 300} {
		next := 0
		for _, one := range r.of(node) {
			if one == "probe " {
				continue
			}
			if one != fmt.Sprint("c ", next) {
				t.Fatalf("node %s got %q, want message %d", node, one, next)
			}
			next++
		}
		if next != want {
			t.Errorf("node %s got %d messages, want %d", node, next, want)
		}
	}
}

// A message that is empty, or longer than one read, arrives as it is.
func TestSizes(t *testing.T) {
	var r receivers
	s := newSender(t, &r, "a")
	for i, size := range []int{0, 1, bufferBytes, 3 << 20} {
		message := make([]byte, size)
		s.Send([]byte{}, message)
		testwait.Until(t, patience, "the message is there", func() bool { return len(r.of("a")) == i+1 })
		if got := r.of("a")[i]; got != " "+string(message) {
			t.Errorf("a message of %d bytes arrived with %d", size, len(got)-1)
		}
	}
}

// The queue of a node that reads nothing, or is away, is bounded, and counts the drops.
func TestDrops(t *testing.T) { synctest.Test(t, testDrops) }

func testDrops(t *testing.T) {
	message := make([]byte, 1<<20)
	for _, r := range []*receivers{{stuck: true}, {away: true}} {
		s := newSender(t, r, "a")
		const count = 3 * maxQueued >> 20
		for range count {
			s.Send([]byte("c"), message)
		}
		if _, dropped := s.Counts(); dropped < count/3 {
			t.Errorf("away %v: %d of %d messages were dropped", r.away, dropped, count)
		}
		if !r.away {
			continue
		}
		testwait.Until(t, patience, "the rest is dropped", func() bool {
			_, dropped := s.Counts()
			return dropped == count
		})
	}
}

// A frame that is not whole ends the link.
func TestGarbled(t *testing.T) {
	for _, frame := range []string{"\x00\x00\x00\x00", "\x00\x00\x00\x01a", "\x00\x00\x00\x03\x00\x02a",
		"\xff\xff\xff\xff"} {
		here, there := net.Pipe()
		go func() {
			here.Write([]byte(frame))
			here.Close()
		}()
		err := Receive(there, func(channel, message []byte) { t.Errorf("%q is a message", frame) })
		if err == nil {
			t.Errorf("%q: no error", frame)
		}
	}
}
