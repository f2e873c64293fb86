package session

import (
	"cmp"
	"slices"
	"time"
)

// Info describes a session for CLIENT LIST.
type Info struct {
	Labels
	ID              int64
	Addr, LocalAddr string
	User            string
	Command         string // the last command; empty: no command yet
	Proto3          bool
	Age, Idle       time.Duration
	// Channels and Patterns count subscriptions; Monitor reports MONITOR.
	Channels, Patterns int
	Monitor            bool
	Tracking           Tracking
	Waits              bool // see Session.Waits
	// Queued is the number of queued commands of the open transaction, -1 if no transaction
	// is open; QueuedBytes is their memory.
	Queued, QueuedBytes int64
	Buffers             Buffers
}

// Info describes the session at a time. Any goroutine may call it.
func (s *Session) Info(now time.Time) Info {
	user := s.User()
	s.mu.Lock()
	c := s.info
	if s.tracks != nil {
		c.tracking = s.tracks.shown(c.tracking)
	}
	s.mu.Unlock()
	i := Info{
		Labels: c.Labels, ID: s.id, Addr: s.client.Addr, LocalAddr: s.client.LocalAddr, User: user,
		Proto3: s.inbox.proto3.Load(), Channels: c.channels, Patterns: c.patterns, Monitor: c.monitor, Tracking: c.tracking,
		Waits: s.Waits(),
		Age:   now.Sub(s.client.Since), Idle: now.Sub(s.h.start) - time.Duration(s.active.Load()),
		Queued: s.queued.Load() - 1, QueuedBytes: s.queuedBytes.Load(), Buffers: Buffers{FD: -1},
	}
	if last := s.last.Load(); last != nil {
		i.Command = last.FullName
	}
	if s.client.Buffers != nil {
		i.Buffers = s.client.Buffers()
	}
	return i
}

// Sessions returns the sessions in order of their ids.
func (h *Handler) Sessions() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	sessions := make([]*Session, 0, len(h.sessions))
	for _, s := range h.sessions {
		sessions = append(sessions, s)
	}
	slices.SortFunc(sessions, func(a, b *Session) int { return cmp.Compare(a.id, b.id) })
	return sessions
}

// Disconnect asks the transport to close the connection. Any goroutine may call it.
func (s *Session) Disconnect() { s.client.Close() }
