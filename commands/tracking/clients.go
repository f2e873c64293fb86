package tracking

import (
	"maps"
	"slices"
)

// On makes a client track, or changes how it does. It adds prefixes to those of earlier calls; for a
// broadcast without any it adds the empty one. Requires: the client is not closed.
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
		if t.prefixes[p] == nil {
			t.prefixes[p] = map[*Client]struct{}{}
		}
		t.prefixes[p][c] = struct{}{}
	}
}

// Off ends the tracking of a client: it must keep no value. If it tracks again, messages about keys
// that it has read before may follow.
func (t *Table) Off(c *Client) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.on {
		return
	}
	c.on = false
	delete(t.clients, c)
	for p := range c.prefixes {
		delete(t.prefixes[p], c)
		if len(t.prefixes[p]) == 0 {
			delete(t.prefixes, p)
		}
	}
	clear(c.prefixes)
	if len(t.clients) == 0 { // nobody tells the table of changes from now on
		t.clear()
	}
	t.o.Track(-1)
}

// Close is Off for a client that is gone.
func (t *Table) Close(c *Client) {
	t.Off(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	c.send = nil // entries may keep the client for long
}

// Prefixes returns the prefixes of a client, in order.
func (t *Table) Prefixes(c *Client) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(c.prefixes))
}
