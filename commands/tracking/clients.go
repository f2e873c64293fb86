package tracking

import (
	"maps"
	"slices"
)

// On makes a client track, or changes its mode. It adds prefixes to the client's existing prefixes.
// A broadcast without prefixes adds the empty prefix, which matches all keys. Requires: the client
// is not closed.
func (t *Table) On(c *Client, m Mode, prefixes []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.on {
		c.on = true
		t.clients[c] = struct{}{}
		t.o.Track(1)
	}
	c.options = m
	if m.Broadcast && len(prefixes) == 0 {
		prefixes = []string{""}
	}
	for _, p := range prefixes {
		c.prefixes[p] = struct{}{}
		t.prefixes.add(p, c)
	}
}

// Off ends the tracking of a client; the client must then drop its cached values. If it tracks
// again, it may receive messages about keys that it read before.
func (t *Table) Off(c *Client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.on {
		return
	}
	c.on = false
	delete(t.clients, c)
	for p := range c.prefixes {
		t.prefixes.remove(p, c)
	}
	clear(c.prefixes)
	// Without clients, engine.Notices reports no more changes to the table.
	if len(t.clients) == 0 {
		t.clear()
	}
	t.o.Track(-1)
}

// Close is Off for a client with a closed connection. The client must not be used again.
func (t *Table) Close(c *Client) {
	t.Off(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	// Entries may refer to the client for a long time.
	c.send = nil
}

// Prefixes returns the prefixes of a client in ascending order.
func (t *Table) Prefixes(c *Client) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(c.prefixes))
}
