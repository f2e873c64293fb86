package replication

import (
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// known is what a node knows about the others. Many may use it at once.
type peerTable struct {
	mu    sync.Mutex
	nodes map[string]string        // ids by address, of the latest configuration
	since map[string]time.Duration // by id: by mono, when it was first in one, as this node has seen
	reports map[string]peerReport
}

// peerNews is the last that was heard from a node.
type peerReport struct {
	peerStatus
	At time.Duration // by mono
}

// learn takes over raft's latest configuration.
func (n *Node) refreshServers(r *raft.Raft) { n.peers.setServers(serversOf(r), n.mono()) }

// learn takes over who the members are, at a reading of the monotonic clock.
func (k *peerTable) setServers(servers []server, now time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	since := make(map[string]time.Duration, len(servers))
	k.nodes = make(map[string]string, len(servers))
	for _, s := range servers {
		k.nodes[s.Raft], since[s.Node] = s.Node, now
		if before, ok := k.since[s.Node]; ok {
			since[s.Node] = before
		}
	}
	k.since = since
}

// silence is for how long nothing has been heard of a member, or since it is one.
func (k *peerTable) silentFor(node string, now time.Duration) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p, ok := k.reports[node]; ok {
		return now - p.At
	}
	if since, ok := k.since[node]; ok {
		return now - since
	}
	return 0
}

// excuse is called once in attendEvery with the time since the last call. Of more than twice
// that, this process did not run for most: no member was silent meanwhile.
func (k *peerTable) excusePause(passed time.Duration) {
	missed := passed - 2*maintainInterval
	if missed <= 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, p := range k.reports {
		p.At += missed
		k.reports[id] = p
	}
	for id := range k.since {
		k.since[id] += missed
	}
}

// nodeAt is the id of the node at an address, empty if it is not known.
func (k *peerTable) nodeAt(address string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.nodes[address]
}

// hear keeps news of a node.
func (k *peerTable) record(news peerReport) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reports == nil {
		k.reports = make(map[string]peerReport)
	}
	k.reports[news.Node] = news
}

// answered notes that a node has answered at a time by mono, of which news were heard before.
func (k *peerTable) recordAnswer(node string, at time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p, ok := k.reports[node]; ok && at > p.At {
		p.At = at
		k.reports[node] = p
	}
}

// forget drops what is known of nodes that are none of the configuration.
func (k *peerTable) prune() {
	k.mu.Lock()
	defer k.mu.Unlock()
	ids := make(map[string]bool, len(k.nodes))
	for _, id := range k.nodes {
		ids[id] = true
	}
	maps.DeleteFunc(k.reports, func(id string, _ peerReport) bool { return !ids[id] })
}

// lasts are the last entries of the others, as far as was heard.
func (k *peerTable) lastIndexes() (all []uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.reports {
		all = append(all, p.LastIndex)
	}
	return all
}

// reached is how many others are known to have an entry.
func (k *peerTable) countReached(index uint64) (have int) {
	for _, last := range k.lastIndexes() {
		if last >= index {
			have++
		}
	}
	return have
}

// news are a copy of what was heard.
func (k *peerTable) all() map[string]peerReport {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.reports)
}
