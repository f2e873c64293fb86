package session

// Subscriptions returns the number of channels and patterns of the session.
func (s *Session) Subscriptions() int {
	return len(s.subscribed[ToChannels]) + len(s.subscribed[ToPatterns])
}

// MustPush reports whether the client would take any reply for a message, because it uses
// RESP2 and has subscriptions.
func (s *Session) MustPush() bool { return s.Subscriptions() > 0 && !s.w.Proto3 }

// updateListening publishes the session's subscriptions and MONITOR to CLIENT LIST, and
// recomputes the restrictions.
func (s *Session) updateListening() {
	s.listening.Store(s.Subscriptions() > 0 || s.monitoring)
	s.show(func(c *clientInfo) {
		c.channels, c.patterns, c.monitor = len(s.subscribed[ToChannels]), len(s.subscribed[ToPatterns]), s.monitoring
	})
	s.restrict()
}

// unsubscribeAll ends all subscriptions and MONITOR.
func (s *Session) unsubscribeAll() {
	if !s.listening.Load() {
		return
	}
	hub := s.h.hub
	hub.mu.Lock()
	defer hub.mu.Unlock()
	for k := range s.subscribed {
		for name := range s.subscribed[k] {
			hub.remove(Kind(k), name, &s.inbox)
		}
		s.subscribed[k] = nil
	}
	if s.monitoring {
		s.monitoring = false
		s.h.removeMonitor(s)
	}
	s.updateListening()
}

// Listening reports that the session waits for pushed messages or for elements, so that it is
// not idle although its client sends nothing. Any goroutine may call it.
func (s *Session) Listening() bool { return s.listening.Load() || s.Waits() }
