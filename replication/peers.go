package replication

import (
	"maps"
	"sync"
	"time"

	"limitsrv/engine"
	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
)

// A peerStatus is a node's state as reported to other nodes.
type peerStatus struct {
	Node         string         `json:"node"`
	Wall         engine.Instant `json:"wall"` // its wall clock
	Term         uint64         `json:"term"`
	LastIndex    uint64         `json:"last"`
	AppliedIndex uint64         `json:"applied"`
	Leader       string         `json:"leader"` // id of its leader
	// Level is the highest feature level that its log may use; 0: it does not tell.
	Level int `json:"level,omitempty"`
	// Stored is the last entry with decisions that it stored since its start, 0 if it
	// stored no decisions, and Idle the time since.
	Stored uint64        `json:"stored,omitempty"`
	Idle   time.Duration `json:"idle,omitempty"`
	// Silent: it wants a new leader. LastTerm is the term of its last entry.
	Silent   bool   `json:"silent,omitempty"`
	LastTerm uint64 `json:"last_term,omitempty"`
	// Skips are the skipped entries of the node's state.
	Skips fsm.Skips `json:"skips,omitzero"`
	// Settling: the node was elected, and must still log something that requests need.
	Settling bool `json:"settling,omitempty"`
	// Peers are the leader's reports of the other members.
	Peers []peerSummary `json:"peers,omitempty"`
}

// A peerSummary is a node's report of another.
type peerSummary struct {
	Node      string        `json:"node"`
	LastIndex uint64        `json:"last"`
	Seen      time.Duration `json:"seen"` // ago
}

// A peerTable holds the last reports of the other nodes. Concurrency: any goroutine.
type peerTable struct {
	mu      sync.Mutex
	nodes   map[string]string        // ids by address, of the latest configuration
	since   map[string]time.Duration // by id: when this node first saw it in a configuration, by mono
	reports map[string]peerReport
}

// A peerReport is the last status received from, or about, a node.
type peerReport struct {
	peerStatus
	At time.Duration // by mono
	// Clock is its wall clock minus this node's, if Compared.
	Clock    time.Duration
	Compared bool
}

// setServers replaces the members. now is a reading of the monotonic clock.
func (k *peerTable) setServers(servers []storage.Server, now time.Duration) {
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

// silentFor returns the time since the last report about a member, or since it is a
// member.
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

// excusePause is called once per maintainInterval with the time since the last call. If
// that is more than twice the interval, this process was paused for most of it, so the
// excess does not count as silence of any member.
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

// nodeAt returns the id of the node at an address, or "" if it is unknown.
func (k *peerTable) nodeAt(address string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.nodes[address]
}

// record stores a report.
func (k *peerTable) record(report peerReport) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.reports == nil {
		k.reports = make(map[string]peerReport)
	}
	k.reports[report.Node] = report
}

// recordAnswer notes that a node answered at a time by mono, if there is a report of it.
func (k *peerTable) recordAnswer(node string, at time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p, ok := k.reports[node]; ok && at > p.At {
		p.At = at
		k.reports[node] = p
	}
}

// prune drops the reports of nodes that are not in the configuration.
func (k *peerTable) prune() {
	k.mu.Lock()
	defer k.mu.Unlock()
	ids := make(map[string]bool, len(k.nodes))
	for _, id := range k.nodes {
		ids[id] = true
	}
	maps.DeleteFunc(k.reports, func(id string, _ peerReport) bool { return !ids[id] })
}

// lastIndexes returns the reported last entries of the other nodes.
func (k *peerTable) lastIndexes() (all []uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.reports {
		all = append(all, p.LastIndex)
	}
	return all
}

// countReached returns how many other nodes have reported an entry as stored.
func (k *peerTable) countReached(index uint64) (have int) {
	for _, last := range k.lastIndexes() {
		if last >= index {
			have++
		}
	}
	return have
}

// all returns a copy of the reports by node id.
func (k *peerTable) all() map[string]peerReport {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.reports)
}

// summariesReach reports whether the leader heard from all other members recently and they
// have an entry.
func summariesReach(words []peerSummary, last uint64) bool {
	for _, w := range words {
		if w.LastIndex < last || w.Seen > maintainInterval {
			return false
		}
	}
	return true
}
