package commands

import (
	"maps"
	"slices"
	"sync"

	"limitsrv/commands/glob"
	"limitsrv/commands/resp"
)

// A hub holds the subscriptions and monitors of all sessions. Op commands do not use it.
type hub struct {
	mu       sync.RWMutex
	channels audience
	patterns audience
	monitors map[*Session]struct{}
}

// An audience is the set of sessions subscribed to each name: a channel or a pattern.
type audience map[string]map[*Session]struct{}

func newHub() *hub {
	return &hub{channels: audience{}, patterns: audience{}, monitors: map[*Session]struct{}{}}
}

func (a audience) add(name string, s *Session) {
	if a[name] == nil {
		a[name] = make(map[*Session]struct{})
	}
	a[name][s] = struct{}{}
}

func (a audience) remove(name string, s *Session) {
	delete(a[name], s)
	if len(a[name]) == 0 {
		delete(a, name)
	}
}

// publish sends a message to all subscribers of its channel and returns the number of
// deliveries. The publishing session receives its own copy before its reply.
func (h *hub) publish(from *Session, channel, message []byte) (receivers int64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	deliver := func(to map[*Session]struct{}, m resp.Message) {
		for s := range to {
			receivers++
			if s == from && !s.tx.running { // the replies of EXEC must stay one array
				from.w.Buf = append(from.w.Buf, m.In(from.w.Proto3)...)
				continue
			}
			s.send(m)
		}
	}
	if to := h.channels[string(channel)]; len(to) > 0 {
		deliver(to, resp.NewMessage([]byte("message"), channel, message))
	}
	for pattern, to := range h.patterns {
		if glob.Match([]byte(pattern), channel, glob.SameCase) {
			deliver(to, resp.NewMessage([]byte("pmessage"), []byte(pattern), channel, message))
		}
	}
	return receivers
}

// subscriptions are the channels and patterns of a session.
type subscriptions struct{ channels, patterns map[string]struct{} }

func (l *subscriptions) count() int { return len(l.channels) + len(l.patterns) }

// maxSubscriptions bounds the channels and patterns of a session, and maxChannelBytes the
// length of their names: PUBLISH matches its channel against all patterns, and each match
// costs up to the product of the two lengths.
const (
	maxSubscriptions = 256
	maxChannelBytes  = 256
)

// A kind of subscription: to channels or to patterns.
type kind struct {
	on, off    string // words of the replies
	of         func(*subscriptions) *map[string]struct{}
	audienceOf func(*hub) audience
}

var (
	toChannels = kind{
		"subscribe", "unsubscribe",
		func(l *subscriptions) *map[string]struct{} { return &l.channels },
		func(h *hub) audience { return h.channels },
	}
	toPatterns = kind{
		"psubscribe", "punsubscribe",
		func(l *subscriptions) *map[string]struct{} { return &l.patterns },
		func(h *hub) audience { return h.patterns },
	}
)

// subscribe subscribes to all names or to none, and answers for each.
func (s *Session) subscribe(k kind, names [][]byte) {
	for _, name := range names {
		if len(name) > maxChannelBytes {
			s.w.Error(errChannel)
			return
		}
	}
	if s.listens.count()+len(names) > maxSubscriptions {
		s.w.Error(errSubscriptions)
		return
	}
	mine := k.of(&s.listens)
	if *mine == nil {
		*mine = make(map[string]struct{})
	}
	hub := s.h.hub
	hub.mu.Lock()
	defer hub.mu.Unlock()
	for _, name := range names {
		(*mine)[string(name)] = struct{}{}
		k.audienceOf(hub).add(string(name), s)
		s.answerSubscription(k.on, name)
	}
	s.updateListening()
}

// unsubscribe removes subscriptions, all of the kind if no name is given. It answers for
// each, or once if there was none.
func (s *Session) unsubscribe(k kind, names [][]byte) {
	mine := *k.of(&s.listens)
	if len(names) == 0 {
		for _, name := range slices.Sorted(maps.Keys(mine)) {
			names = append(names, []byte(name))
		}
	}
	if len(names) == 0 {
		s.answerSubscription(k.off, nil)
		return
	}
	hub := s.h.hub
	hub.mu.Lock()
	defer hub.mu.Unlock()
	for _, name := range names {
		if _, had := mine[string(name)]; had {
			delete(mine, string(name))
			k.audienceOf(hub).remove(string(name), s)
		}
		s.answerSubscription(k.off, name)
	}
	s.updateListening()
}

// answerSubscription writes one answer; name is nil if there was no subscription.
func (s *Session) answerSubscription(verb string, name []byte) {
	s.w.Push(3)
	s.w.BulkString(verb)
	if name == nil {
		s.w.Null()
	} else {
		s.w.Bulk(name)
	}
	s.w.Int(int64(s.listens.count()))
}

// updateListening publishes the session's subscriptions and MONITOR to CLIENT LIST, and
// recomputes the restrictions.
func (s *Session) updateListening() {
	s.listening.Store(s.listens.count() > 0 || s.monitoring)
	s.show(func(c *shown) {
		c.channels, c.patterns, c.monitor = len(s.listens.channels), len(s.listens.patterns), s.monitoring
	})
	s.restrict()
}

// deafen ends all subscriptions and MONITOR.
func (s *Session) deafen() {
	if !s.listening.Load() {
		return
	}
	hub := s.h.hub
	hub.mu.Lock()
	defer hub.mu.Unlock()
	for name := range s.listens.channels {
		hub.channels.remove(name, s)
	}
	for name := range s.listens.patterns {
		hub.patterns.remove(name, s)
	}
	s.listens = subscriptions{}
	if s.monitoring {
		s.monitoring = false
		s.h.removeMonitor(s)
	}
	s.updateListening()
}

// Listening reports that the session waits for pushed messages, so that it is not idle
// although its client sends nothing. Any goroutine may call it.
func (s *Session) Listening() bool { return s.listening.Load() }
