package raftfix

import (
	"sync"

	"github.com/hashicorp/raft"
)

// confirmingPeers are the nodes to which a heartbeat of Confirm is on its way. The zero value is
// empty. Concurrency: any goroutine.
type confirmingPeers struct {
	mu  sync.Mutex
	all map[raft.ServerID]bool
}

// begin adds a node, and reports whether it was absent.
func (c *confirmingPeers) begin(id raft.ServerID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[id] {
		return false
	}
	if c.all == nil {
		c.all = make(map[raft.ServerID]bool)
	}
	c.all[id] = true
	return true
}

func (c *confirmingPeers) end(id raft.ServerID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, id)
}
