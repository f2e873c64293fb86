package engine

import "runtime/debug"

const (
	// crowdedShare is the share of the memory of keys, as a divisor, beyond which images are
	// so many that the reader should hurry.
	crowdedShare = 16
	// crowdedFrom is the least number of bytes of images that are many: each shard has a
	// buffer for its first one.
	crowdedFrom = 1 << 20
)

// Crowded reports whether the images need much memory, so that the reader should not pause:
// the longer it takes, the more pages change before they are read. Cost: a few loads.
func (n *Snapshot) Crowded() bool {
	return n.bytes.Load() > max(crowdedFrom, n.engine.memory.used.Load()/crowdedShare)
}

// collectFrom is the number of bytes of images from which Close returns them to the system:
// the next collection by itself comes when the heap has grown by half, and keeps them.
const collectFrom = 16 << 20

// Close ends the reading at any point, and releases its memory. It may be called at any
// time and more than once. Cost: after many images, a garbage collection.
func (n *Snapshot) Close() {
	for i := range n.frozen {
		s := &n.engine.shards[i]
		s.mu.Lock()
		if s.frozen != nil && s.frozen.snapshot == n {
			s.thaw()
		}
		s.mu.Unlock()
	}
	if !n.engine.snapshot.CompareAndSwap(n, nil) {
		return
	}
	n.mu.Lock()
	n.spareBuffers = nil
	n.mu.Unlock()
	if n.bytes.Load() > collectFrom {
		debug.FreeOSMemory()
	}
}
