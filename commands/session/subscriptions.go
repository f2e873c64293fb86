package session

import (
	"fmt"
	"limitsrv/commands/auth/users"
	"maps"
	"slices"

	"limitsrv/commands/resp"
	"limitsrv/engine"
)

// Subscriptions are bounded: MaxSubscriptions of a session, and engine.MaxChannelBytes of a
// name, because PUBLISH matches its channel against all patterns, and each match costs
// up to the product of the two lengths.
const MaxSubscriptions = 256

// ErrChannel answers a name of a channel or pattern that is too long.
var ErrChannel = resp.NewError("ERR",
	fmt.Sprintf("names of channels and patterns are at most %d bytes long", engine.MaxChannelBytes))

var errSubscriptions = resp.NewError("ERR",
	fmt.Sprintf("too many subscriptions: at most %d channels and patterns", MaxSubscriptions))

// Subscribe subscribes to all names or, with an error, to no name. It calls answer for
// each, with the number of subscriptions so far, before any message of them is delivered.
func (s *Session) Subscribe(k Kind, names [][]byte, answer func(name []byte, count int)) error {
	for _, name := range names {
		if len(name) > engine.MaxChannelBytes {
			return ErrChannel
		}
	}
	if s.Subscriptions()+len(names) > MaxSubscriptions {
		return errSubscriptions
	}
	mine := &s.subscribed[k]
	if *mine == nil {
		*mine = make(map[string]struct{})
	}
	hub := s.h.hub
	hub.mu.Lock()
	defer hub.mu.Unlock()
	for _, name := range names {
		// The rights may have changed since Deny. The check is with mu held, so that ReloadUsers
		// misses no session.
		if !s.mayHear(k, name) {
			return errNoChannel
		}
	}
	for _, name := range names {
		(*mine)[string(name)] = struct{}{}
		hub.add(k, string(name), &s.inbox)
		answer(name, s.Subscriptions())
	}
	s.updateListening()
	return nil
}

// Unsubscribe removes subscriptions, all of the kind if no name is given. It calls answer
// for each, or once with nil if there was no subscription.
func (s *Session) Unsubscribe(k Kind, names [][]byte, answer func(name []byte, count int)) {
	mine := s.subscribed[k]
	if len(names) == 0 {
		for _, name := range slices.Sorted(maps.Keys(mine)) {
			names = append(names, []byte(name))
		}
	}
	if len(names) == 0 {
		answer(nil, s.Subscriptions())
		return
	}
	hub := s.h.hub
	hub.mu.Lock()
	defer hub.mu.Unlock()
	for _, name := range names {
		if _, had := mine[string(name)]; had {
			delete(mine, string(name))
			hub.remove(k, string(name), &s.inbox)
		}
		answer(name, s.Subscriptions())
	}
	s.updateListening()
}

// Publish sends a message to all subscribers of its channel, on all nodes, and returns the number of
// deliveries on this node. The session receives its own copy before the reply, except in a
// transaction, because its replies must stay a single array, and under CLIENT REPLY OFF or SKIP.
func (s *Session) Publish(channel, message []byte) (receivers int64) {
	s.h.config.Cluster.Publish(channel, message)
	return s.h.hub.publish(channel, message, func(to *inbox, m resp.Message) {
		if to == &s.inbox && !s.tx.running && !s.mutes() {
			s.w.Buf = append(s.w.Buf, m.In(s.w.Proto3)...)
			return
		}
		to.send(m)
	})
}

// mayHear reports whether the session's user may have this subscription. Any goroutine may call it.
func (s *Session) mayHear(k Kind, name []byte) bool {
	s.mu.Lock()
	a := s.account
	s.mu.Unlock()
	if a == nil {
		return true // no user is logged in
	}
	r := a.Rights()
	return r.All() || r.In(subscribers) && r.MayUseChannel(name, k == ToPatterns)
}

// subscribers are the groups of users that may subscribe.
var subscribers = users.GroupOf("pubsub") | users.Admin
