package commands

import "github.com/tidwall/redcon"

// A push is a reply that nobody asked for, in the form of each protocol. One
// goroutine makes it, and gives it to many sessions.
type push struct{ two, three []byte }

// newPush makes a push of strings: an array in RESP2.
func newPush(words ...[]byte) push {
	var w Reply
	w.Push(len(words))
	head := len(w.buf)
	for _, word := range words {
		w.Bulk(word)
	}
	three := append([]byte{'>'}, w.buf[1:head]...)
	return push{two: w.buf, three: append(three, w.buf[head:]...)}
}

// An inbox is what others sent to a session and it has not yet put out.
type inbox struct {
	bytes  []byte
	rung   bool // Wake was called since bytes was taken
	closed bool // takes no more
}

// send gives a session a push; any goroutine may call it. It never waits: where
// more would wait than the client may leave unread, the connection is closed.
func (s *Session) send(p push) {
	s.mu.Lock()
	bytes := p.two
	if s.shown.proto3 {
		bytes = p.three
	}
	in := &s.inbox
	most := s.client.OutputBytes
	full := !in.closed && most > 0 && len(in.bytes)+len(bytes) > most
	ring := !full && !in.closed && !in.rung
	if full {
		in.closed = true
	}
	if !in.closed {
		in.bytes = append(in.bytes, bytes...)
		in.rung = true
	}
	s.mu.Unlock()
	if full {
		s.client.Close()
	}
	if ring {
		s.client.Wake()
	}
}

// receive puts out what others sent.
func (s *Session) receive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Out = append(s.Out, s.inbox.bytes...)
	s.inbox.bytes, s.inbox.rung = s.inbox.bytes[:0], false
	if cap(s.inbox.bytes) > keptInbox {
		s.inbox.bytes = nil
	}
}

// keptInbox is how many bytes of an inbox are kept for the next push.
const keptInbox = 4 << 10

// Push writes the head of a push of n replies; RESP2: of an array.
func (w *Reply) Push(n int) {
	if w.proto3 {
		w.head('>', n)
		return
	}
	w.buf = redcon.AppendArray(w.buf, n)
}
