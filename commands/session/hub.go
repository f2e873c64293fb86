package session

import (
	"maps"
	"slices"
	"sync"

	"limitsrv/commands/glob"
	"limitsrv/commands/resp"
)

// A Hub holds the subscriptions and monitors of all sessions. Op commands do not use it.
// Concurrency: any number of goroutines may call its methods.
type Hub struct {
	mu        sync.RWMutex
	audiences [2]audience              // by Kind
	patterns  map[string]*glob.Pattern // the compiled patterns of audiences[ToPatterns], by name
	listeners map[*inbox]int           // the numbers of subscriptions
	monitors  map[*inbox]struct{}
}

// An audience is the set of inboxes subscribed to each name: a channel or a pattern.
type audience map[string]map[*inbox]struct{}

// A Kind of subscription.
type Kind int

const (
	ToChannels Kind = iota
	ToPatterns
)

func newHub() *Hub {
	return &Hub{audiences: [2]audience{{}, {}}, patterns: map[string]*glob.Pattern{}, listeners: map[*inbox]int{},
		monitors: map[*inbox]struct{}{}}
}

func (a audience) add(name string, in *inbox) {
	if a[name] == nil {
		a[name] = make(map[*inbox]struct{})
	}
	a[name][in] = struct{}{}
}

func (a audience) remove(name string, in *inbox) {
	delete(a[name], in)
	if len(a[name]) == 0 {
		delete(a, name)
	}
}

// add subscribes an inbox. Requires: mu is held.
func (h *Hub) add(k Kind, name string, in *inbox) {
	if _, there := h.audiences[k][name][in]; there {
		return
	}
	h.audiences[k].add(name, in)
	h.listeners[in]++
	if k == ToPatterns && h.patterns[name] == nil {
		h.patterns[name] = glob.Compile([]byte(name), glob.SameCase)
	}
}

// remove ends a subscription of an inbox. Requires: mu is held.
func (h *Hub) remove(k Kind, name string, in *inbox) {
	h.audiences[k].remove(name, in)
	if h.listeners[in]--; h.listeners[in] == 0 {
		delete(h.listeners, in)
	}
	if k == ToPatterns && h.audiences[k][name] == nil {
		delete(h.patterns, name)
	}
}

// names returns the subscriptions of each inbox, by Kind. Cost: linear in the number of
// subscriptions.
func (h *Hub) names() map[*inbox][2][]string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	all := map[*inbox][2][]string{}
	for k, a := range h.audiences {
		for name, inboxes := range a {
			for in := range inboxes {
				of := all[in]
				of[k] = append(of[k], name)
				all[in] = of
			}
		}
	}
	return all
}

// publish sends a message to all subscribers of its channel and returns the number of
// deliveries. deliver sends to an inbox.
func (h *Hub) publish(channel, message []byte, deliver func(*inbox, resp.Message)) (receivers int64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	toAll := func(to map[*inbox]struct{}, m resp.Message) {
		for in := range to {
			receivers++
			deliver(in, m)
		}
	}
	if to := h.audiences[ToChannels][string(channel)]; len(to) > 0 {
		toAll(to, resp.NewMessage([]byte("message"), channel, message))
	}
	for pattern, matches := range h.patterns {
		if matches.Match(channel) {
			toAll(h.audiences[ToPatterns][pattern], resp.NewMessage([]byte("pmessage"), []byte(pattern), channel, message))
		}
	}
	return receivers
}

// deliver sends a message from a script, or from another node, to all subscribers of its channel.
func (h *Hub) deliver(channel, message []byte) { h.publish(channel, message, (*inbox).send) }

// hears reports whether an inbox is subscribed to a channel.
func (h *Hub) hears(channel string, in *inbox) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	_, there := h.audiences[ToChannels][channel][in]
	return there
}

// Channels returns the wanted channels with subscribers, in order. It calls wanted without a lock,
// because the matching of many names takes long.
func (h *Hub) Channels(wanted func(name string) bool) (names []string) {
	h.mu.RLock()
	names = slices.AppendSeq(make([]string, 0, len(h.audiences[ToChannels])), maps.Keys(h.audiences[ToChannels]))
	h.mu.RUnlock()
	names = slices.DeleteFunc(names, func(name string) bool { return !wanted(name) })
	slices.Sort(names)
	return names
}

// Subscribers returns the number of subscribers of each channel.
func (h *Hub) Subscribers(channels [][]byte) []int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	counts := make([]int, len(channels))
	for i, name := range channels {
		counts[i] = len(h.audiences[ToChannels][string(name)])
	}
	return counts
}

// HubSizes are numbers of channels and patterns with subscribers, and of their clients.
type HubSizes struct{ Channels, Patterns, Clients int }

// Sizes returns the sizes.
func (h *Hub) Sizes() HubSizes {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return HubSizes{len(h.audiences[ToChannels]), len(h.audiences[ToPatterns]), len(h.listeners)}
}
