package events

import (
	"sync"

	"limitsrv/engine"
)

const (
	// toldShards divides the table, so that threads mostly take different locks.
	toldShards = 64
	// toldWays is the number of places that an event may take, and toldSets the number of groups of
	// places in a shard.
	toldWays = 4
	toldSets = 512
)

// A toldTable remembers events that this node has told, in 2 MB. It may forget an event early, in
// favor of another: the script then refuses to tell it again. Concurrency: any goroutine.
type toldTable struct {
	shards [toldShards]toldShard
}

type toldShard struct {
	mu   sync.Mutex
	sets [toldSets][toldWays]toldEvent
}

// A toldEvent is told until an instant; 0: the place is empty.
type toldEvent struct {
	hash  uint64
	until engine.Instant
}

// at returns the place of an event, or the place to take for it: that with the earliest end.
func (s *toldShard) at(hash uint64) *toldEvent {
	set := &s.sets[hash/toldShards%toldSets]
	at := &set[0]
	for i := range set {
		if set[i].hash == hash {
			return &set[i]
		}
		if set[i].until < at.until {
			at = &set[i]
		}
	}
	return at
}

// claim reports whether the event with a hash is not told at now, and marks it as told until then.
func (t *toldTable) claim(hash uint64, now, until engine.Instant) bool {
	s := &t.shards[hash%toldShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.at(hash)
	if at.hash == hash && at.until > now {
		return false
	}
	*at = toldEvent{hash, until}
	return true
}

// set marks the event with a hash as told until an instant.
func (t *toldTable) set(hash uint64, until engine.Instant) {
	s := &t.shards[hash%toldShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.at(hash) = toldEvent{hash, until}
}
