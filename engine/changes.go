package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Change says that an Apply has changed a key, or possibly all keys.
type Change struct {
	All    bool
	DB     uint8
	Key    []byte
	Origin int64 // Batch.Origin; 0: unknown
}

// maxChanges bounds the waiting changes. A further change turns them into a single change of
// all keys.
const maxChanges = 1 << 16

// changedKeys are the changes that wait for the clients of this node that cache values.
type changedKeys struct {
	trackers atomic.Int64 // number of clients that track, see Track; 0: no key is noted
	waiting  atomic.Int64 // changes that are not reported yet

	mu     sync.Mutex
	list   []Change // guarded by mu
	handle atomic.Pointer[func([]Change)]
}

// HandleChanges sets the function that receives the changes. The changes of one key arrive in
// order. handle is called within Send, Replaced, Outdated and Changed; no lock of an engine or of n is held.
// Concurrency: several goroutines may call handle at once.
func (n *Notices) HandleChanges(handle func([]Change)) { n.changed.handle.Store(&handle) }

// Track adds to the number of clients that cache values. While it is 0, no keys are noted, and an
// Apply and a call each cost a further load. After it returns, any change that a later look does
// not see is noted.
func (n *Notices) Track(clients int64) {
	if n != nil {
		n.rise(&n.changed.trackers, clients)
	}
}

// Outdated reports a change of all keys: the state of this node may be older than the state of
// other nodes, because its leader is lost or another node leads.
func (n *Notices) Outdated() {
	if n.Tracks() {
		n.changed.tell(n.relay.Load(), []Change{{All: true}})
	}
}

// Changed reports changes of keys in the state of another node to the clients of this node.
func (n *Notices) Changed(changes []Change) { n.changed.tell(nil, changes) }

// Tracks reports whether clients cache values, so that changes must be noted. A caller that holds the
// lock of a shard, or has changed the shard, gets true for every client that read the shard before.
func (n *Notices) Tracks() bool { return n != nil && n.changed.trackers.Load() > 0 }

// add adds a change, with a copy of its key.
func (c *changedKeys) add(change Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.list) - 1; last >= 0 && c.list[last].has(&change) {
		return
	}
	if len(c.list) == maxChanges {
		change, c.list = Change{All: true}, nil
	}
	change.Key = slices.Clone(change.Key)
	c.list = append(c.list, change)
	c.waiting.Store(int64(len(c.list)))
}

// has reports whether c covers other.
func (c *Change) has(other *Change) bool {
	return c.All || !other.All && c.DB == other.DB && c.Origin == other.Origin && string(c.Key) == string(other.Key)
}

// report passes the waiting changes on.
func (c *changedKeys) report(relay *Relay) {
	c.mu.Lock()
	list := c.list
	c.list = nil
	c.waiting.Store(0)
	c.mu.Unlock()
	if len(list) > 0 {
		c.tell(relay, list)
	}
}

// tell passes changes to the handler and to the relay, if there is one.
func (c *changedKeys) tell(relay *Relay, list []Change) {
	if handle := c.handle.Load(); handle != nil {
		(*handle)(list)
	}
	if relay != nil {
		relay.Changed(list)
	}
}
