package commands

import "limitsrv/commands/resp"

// An inbox holds the messages for a session that it has not written yet.
type inbox struct {
	bytes  []byte
	rung   bool // Wake was called since bytes was taken
	closed bool // accepts no more messages
}

// send adds a message to the session's inbox; any goroutine may call it. It never blocks: if
// the client leaves more than OutputBytes unread, the connection is closed.
func (s *Session) send(m resp.Message) {
	s.mu.Lock()
	bytes := m.In(s.shown.proto3)
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
// message.
const keptInbox = 4 << 10
