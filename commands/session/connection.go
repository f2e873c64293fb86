package session

// Handler returns the handler of the session.
func (s *Session) Handler() *Handler { return s.h }

// ID returns the id of the session, unique since the start.
func (s *Session) ID() int64 { return s.id }

// Addr returns the address of the client, as CLIENT LIST shows it.
func (s *Session) Addr() string { return s.client.Addr }

// LocalAddr returns the address that the client connected to.
func (s *Session) LocalAddr() string { return s.client.LocalAddr }

// Labels returns the values that the client has set for CLIENT LIST.
func (s *Session) Labels() Labels { return s.info.Labels }

// SetLabels changes these values.
func (s *Session) SetLabels(change func(*Labels)) {
	s.show(func(c *clientInfo) { change(&c.Labels) })
}

// DB returns the database of the keys of the session's commands.
func (s *Session) DB() uint8 { return s.db }

// Select is SELECT: it sets DB. Requires: db is below engine.Databases.
func (s *Session) Select(db uint8) {
	s.db = db
	s.SetLabels(func(l *Labels) { l.DB = int(db) })
}

// SetProtocol switches to RESP3 or RESP2.
func (s *Session) SetProtocol(proto3 bool) {
	s.w.Proto3 = proto3
	s.inbox.proto3.Store(proto3)
	s.restrict()
}

// SetReplies switches the replies to commands on or off.
func (s *Session) SetReplies(r Replies) {
	if r != SkipReply || s.replies != RepliesOff {
		s.replies = r
	}
}

// SetStale is READONLY and READWRITE: it lets a replica answer read-only commands, or not.
func (s *Session) SetStale(stale bool) { s.stale = stale }

// CloseAfterReply closes the connection once the pending replies are written.
func (s *Session) CloseAfterReply() { s.closing = true }

// Reset is RESET: RESP2, no transaction, no subscriptions, not logged in.
func (s *Session) Reset() {
	s.unsubscribeAll()
	s.EndTracking()
	s.endTransaction()
	s.replies = RepliesOn
	s.stale = false
	s.setAccount(s.h.logins.Initial())
	s.SetProtocol(false)
	s.Select(0)
	s.SetLabels(func(l *Labels) { l.Name = "" })
}
