package engine

import (
	"sync"
	"sync/atomic"
)

// images are the part of a Snapshot that all its shards use.
type images struct {
	now   Instant      // the latest time that any shard had seen
	bytes atomic.Int64 // of images and detached tables

	mu           sync.Mutex
	spareBuffers [][]byte // buffers for images that no shard uses
}

// memory returns a buffer for images. The first image has so many bytes.
func (n *images) memory(image int) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.spareBuffers) - 1; last >= 0 && image <= storeBytes {
		m := n.spareBuffers[last]
		n.spareBuffers = n.spareBuffers[:last]
		return m
	}
	image = max(image, storeBytes)
	n.bytes.Add(int64(image))
	return make([]byte, 0, image)
}
