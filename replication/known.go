package replication

import (
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// known is what a node knows about the others. Many may use it at once.
type known struct {
	mu     sync.Mutex
	nodes  map[string]string // ids by address, of the latest configuration
	peers  map[string]peerNews
	voters int
}

// peerNews is the last that was heard from a node.
type peerNews struct {
	peerStatus
	At         time.Duration // by mono
	Difference time.Duration // of its clock to this node's
	// Stalled is since when, by mono, it has had no new entry although there were some.
	Stalled time.Duration
}

// learn takes over raft's latest configuration.
func (k *known) learn(r *raft.Raft) {
	servers := r.GetConfiguration().Configuration().Servers
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nodes, k.voters = make(map[string]string, len(servers)), 0
	for _, s := range servers {
		k.nodes[string(s.Address)] = string(s.ID)
		if s.Suffrage == raft.Voter {
			k.voters++
		}
	}
}

// nodeAt is the id of the node at an address, empty if it is not known.
func (k *known) nodeAt(address string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.nodes[address]
}

// hear keeps news of a node.
func (k *known) hear(news peerNews) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.peers == nil {
		k.peers = make(map[string]peerNews)
	}
	k.peers[news.Node] = news
}

// forget drops what is known of nodes that are none of the configuration.
func (k *known) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	ids := make(map[string]bool, len(k.nodes))
	for _, id := range k.nodes {
		ids[id] = true
	}
	maps.DeleteFunc(k.peers, func(id string, _ peerNews) bool { return !ids[id] })
}

// news are a copy of what was heard.
func (k *known) news() map[string]peerNews {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.peers)
}
