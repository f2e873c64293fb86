package commands

import "github.com/tidwall/redcon"

// A push is an out-of-band message in the form of each protocol. It is made once and sent
// to many sessions.
type push struct{ two, three []byte }

// newPush makes a push of strings; RESP2: an array.
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

// An inbox holds the pushes for a session that it has not written yet.
type inbox struct {
	bytes  []byte
	rung   bool // Wake was called since bytes was taken
	closed bool // accepts no more pushes
}

// send adds a push to the session's inbox; any goroutine may call it. It never blocks: if
// the client leaves more than OutputBytes unread, the connection is closed.
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

// receive moves the inbox to Out.
func (s *Session) receive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Out = append(s.Out, s.inbox.bytes...)
	s.inbox.bytes, s.inbox.rung = s.inbox.bytes[:0], false
	if cap(s.inbox.bytes) > keptInbox {
		s.inbox.bytes = nil
	}
}

// keptInbox is the largest capacity, in bytes, of an inbox that is kept for the next
// push.
const keptInbox = 4 << 10

// Push writes the head of a push of n replies; RESP2: of an array.
func (w *Reply) Push(n int) {
	if w.proto3 {
		w.head('>', n)
		return
	}
	w.buf = redcon.AppendArray(w.buf, n)
}
