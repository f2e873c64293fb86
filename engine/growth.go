package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Growth is a list that a call has made longer, or has moved to its key.
type Growth struct {
	DB    uint8
	Key   []byte
	Count int // number of its elements then, at least 1
}

// grownLists are the lists that have grown, on their way to the clients of this node that wait
// for elements.
type grownLists struct {
	watchers atomic.Int64 // sum of all Watch; 0: no list is noted
	waiting  atomic.Int64 // lists that are not reported yet

	mu     sync.Mutex
	lists  []Growth // guarded by mu
	handle atomic.Pointer[func([]Growth)]
}

// HandleGrowth sets the function that gets the lists that have grown, in the order of their
// growth. No list means any list, because the state was replaced. It is called within Send,
// with no lock of an engine or of n held, and may call Send. Concurrency: several goroutines
// may call it at once.
func (n *Notices) HandleGrowth(handle func([]Growth)) { n.grown.handle.Store(&handle) }

// Watch adds to the number of clients that wait for elements of any list. While it is 0,
// lists are not noted, and a call that lengthens a list costs a load more.
func (n *Notices) Watch(clients int64) {
	if n != nil {
		n.rise(&n.grown.watchers, clients)
	}
}

// Replaced reports that the state of this node was replaced, or that calls were applied without
// Notices. Any list may have grown, and any key may have changed.
func (n *Notices) Replaced() {
	n.Outdated()
	if n == nil || n.grown.watchers.Load() == 0 {
		return
	}
	n.Grew(nil)
	if relay := n.relay.Load(); relay != nil {
		relay.Grown(nil)
	}
}

// Grew reports lists that have grown in the state of another node to the clients of this node. No
// list means any list.
func (n *Notices) Grew(lists []Growth) {
	if handle := n.grown.handle.Load(); handle != nil {
		(*handle)(lists)
	}
}

// Watchers returns the sum of all Watch.
func (n *Notices) Watchers() int64 { return n.grown.watchers.Load() }

// grew notes a list if there are watchers.
func (n *Notices) grew(db uint8, key []byte, count int) {
	if n != nil && n.grown.watchers.Load() > 0 {
		n.grown.add(Growth{db, key, count})
	}
}

// add adds a list, with a copy of its key.
func (g *grownLists) add(list Growth) {
	list.Key = slices.Clone(list.Key)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lists = append(g.lists, list)
	g.waiting.Store(int64(len(g.lists)))
}

// report passes the noted lists on.
func (g *grownLists) report(relay *Relay) {
	g.mu.Lock()
	lists := g.lists
	g.lists = nil
	g.waiting.Store(0)
	g.mu.Unlock()
	if len(lists) == 0 {
		return
	}
	if handle := g.handle.Load(); handle != nil {
		(*handle)(lists)
	}
	if relay != nil {
		relay.Grown(lists)
	}
}
