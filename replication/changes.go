package replication

import "time"

// trailPause is the time that an entry may be stored and not applied, before a node with clients
// that track keys asks its leader. Each further pause is twice as long, up to maxTrailPause.
const (
	trailPause    = 2 * time.Millisecond
	maxTrailPause = 100 * time.Millisecond
)

// entriesStored is called when this node has stored entries. It must not block.
func (n *Node) entriesStored() {
	if !n.o.Notices.Tracks() {
		return
	}
	select {
	case n.stored <- struct{}{}:
	default:
	}
}

// followChanges makes this node apply entries soon after they are committed while its clients track
// keys. Raft reports a commit with the next entry or heartbeat only. It runs in a goroutine until the
// node stops.
func (n *Node) followChanges() {
	for {
		select {
		case <-n.stopping.Done():
			return
		case <-n.stored:
		}
		n.applyStored()
	}
}

// applyStored blocks until this node has applied the entries that it has stored, or there is no
// leader.
func (n *Node) applyStored() {
	s := n.stack.Load()
	if s == nil {
		return
	}
	stored, _ := s.Entries.LastStored()
	for pause := trailPause; s.FSM.Index() < stored && !n.Leads(); pause = min(2*pause, maxTrailPause) {
		select {
		case <-n.stopping.Done():
			return
		case <-time.After(pause):
		}
		if s.FSM.Index() >= stored {
			return
		}
		asked := make(chan error, 1)
		n.Fresh(func(err error) { asked <- err })
		if <-asked != nil {
			return
		}
	}
}
