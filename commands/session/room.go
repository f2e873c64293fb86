package session

import (
	"context"
	"sync"
	"sync/atomic"
)

// RoomBytes bounds the answers of all connections together, in bytes. It counts the answers that
// clients have not read, and reservations for batches in flight that may have long answers. A batch
// that begins below the bound may exceed it by its own answers.
const RoomBytes = 64 << 20

// CrowdedBytes bounds, in bytes, the unread messages of a subscriber or monitor while the [Room]
// is full.
const CrowdedBytes = 256 << 10

// A Room counts the bytes of answers. Its zero value is empty. Concurrency: any goroutine may use
// it.
type Room struct {
	used    atomic.Int64
	mu      sync.Mutex
	waiting []entrant // in the order of their arrival
	waits   atomic.Int64
}

// An entrant is a batch that waits for room.
type entrant struct {
	bytes int64
	enter func() // begins the batch; its bytes are already counted; must not block
}

// Add counts bytes that were added, or removed if bytes is negative. Waiting batches get the freed
// room.
func (r *Room) Add(bytes int64) {
	if r.used.Add(bytes) < RoomBytes && bytes < 0 && r.waits.Load() > 0 {
		r.admit()
	}
}

// Used returns the number of bytes counted.
func (r *Room) Used() int64 { return r.used.Load() }

// Waiting returns the number of batches that wait for room.
func (r *Room) Waiting() int64 { return r.waits.Load() }

// Full reports whether batches with long answers must wait.
func (r *Room) Full() bool { return r.used.Load() >= RoomBytes }

// take counts bytes and returns true. If the room is full or batches wait, it counts nothing and
// returns false.
func (r *Room) take(bytes int64) bool {
	if r.Full() || r.waits.Load() > 0 {
		return false
	}
	r.used.Add(bytes)
	return true
}

// await calls enter once there is room, in the order of the calls. The bytes are counted before
// enter is called.
func (r *Room) await(bytes int64, enter func()) {
	r.mu.Lock()
	r.waiting = append(r.waiting, entrant{bytes, enter})
	r.waits.Add(1)
	r.mu.Unlock()
	r.admit()
}

// hold waits until there is room, and counts bytes. If ctx ends first, it counts nothing and returns
// the error of ctx.
func (r *Room) hold(ctx context.Context, bytes int64) error {
	entered := make(chan struct{})
	r.await(bytes, func() { close(entered) })
	select {
	case <-entered:
		return nil
	case <-ctx.Done():
		go func() {
			<-entered
			r.Add(-bytes)
		}()
		return ctx.Err()
	}
}

// admit starts waiting batches, in order, until the room is full.
func (r *Room) admit() {
	for {
		r.mu.Lock()
		if len(r.waiting) == 0 || r.Full() {
			r.mu.Unlock()
			return
		}
		first := r.waiting[0]
		r.waiting[0] = entrant{}
		if r.waiting = r.waiting[1:]; len(r.waiting) == 0 {
			r.waiting = nil
		}
		r.used.Add(first.bytes)
		r.waits.Add(-1)
		r.mu.Unlock()
		first.enter()
	}
}
