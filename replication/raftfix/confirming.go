package raftfix

import (
	"sync"

	"github.com/hashicorp/raft"
)

// confirmingPeers are the nodes with a heartbeat of Confirm or Tell in flight. The value tells
// whether another heartbeat must follow. The zero value is empty. Concurrency: any goroutine.
type confirmingPeers struct {
	mu  sync.Mutex
	all map[raft.ServerID]bool
}

// begin adds a node and returns true if no heartbeat to it is in flight. Otherwise it returns
// false; with again, another heartbeat then follows.
func (c *confirmingPeers) begin(id raft.ServerID, again bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, present := c.all[id]; present {
		c.all[id] = before || again
		return false
	}
	if c.all == nil {
		c.all = make(map[raft.ServerID]bool)
	}
	c.all[id] = false
	return true
}

// end reports whether another heartbeat must follow at once. If not, it removes the node.
func (c *confirmingPeers) end(id raft.ServerID) (again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[id] {
		c.all[id] = false
		return true
	}
	delete(c.all, id)
	return false
}
