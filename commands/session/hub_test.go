package session

import (
	"fmt"
	"testing"
)

// TestHubSizes: the numbers of a hub are counted when subscriptions come and go, because INFO and
// PUBSUB NUMPAT ask often.
func TestHubSizes(t *testing.T) {
	h, inboxes := newHub(), make([]inbox, 50)
	for i := range inboxes {
		for n := range 20 {
			h.add(ToChannels, fmt.Sprint("channel ", n), &inboxes[i])
			h.add(ToPatterns, "p*", &inboxes[i])
		}
	}
	if got, want := h.Sizes(), (HubSizes{Channels: 20, Patterns: 1, Clients: 50}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if n := testing.AllocsPerRun(10, func() { h.Sizes() }); n > 0 {
		t.Errorf("Sizes allocates %v times", n)
	}
	names := h.Channels(func(string) bool {
		if !h.mu.TryLock() {
			t.Fatal("the hub is locked while names are matched")
		}
		h.mu.Unlock()
		return true
	})
	if len(names) != 20 {
		t.Errorf("%d channels, want 20", len(names))
	}
	for i := range inboxes {
		for n := range 20 {
			h.remove(ToChannels, fmt.Sprint("channel ", n), &inboxes[i])
		}
	}
	if got, want := h.Sizes(), (HubSizes{Patterns: 1, Clients: 50}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for i := range inboxes {
		h.remove(ToPatterns, "p*", &inboxes[i])
	}
	if got := h.Sizes(); got != (HubSizes{}) || len(h.listeners) > 0 {
		t.Errorf("%+v, %d listeners are left", got, len(h.listeners))
	}
}
