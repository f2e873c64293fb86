package main

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"limitsrv/internal/pace"
)

// A collector sets the growth of the heap between two runs of the garbage collector. The heap
// is mostly keys, which hold no pointers, so that a collection is cheap, and garbage is memory
// that keys could use. A small heap may grow by heapGrowth, or by clusterGrowth in a cluster,
// where each entry of the log leaves garbage: a collection on one of three nodes delays the
// decisions of all. It may grow by heapGrowth and compileGrowth together while rules are
// compiled, see pace.SetGrowth; that garbage is collected within followEvery.
//
// Concurrency: safe for concurrent use.
type collector struct {
	limit  int64 // GOMEMLIMIT, used while there is no memory bound
	growth int64 // heapGrowth or clusterGrowth

	mu        sync.Mutex
	maxMemory int64 // 0: unbounded
	percent   int   // as set

	allocated uint64 // in bytes since the start, at the last call of rests; follow only
	quiet     int    // calls of rests in turn that saw few allocations; follow only
}

const (
	// heapGrowth and clusterGrowth are the growths between two collections, if they are more than
	// minGCPercent. A node leaves some 70 bytes of garbage for a decision.
	heapGrowth    = 16 << 20
	clusterGrowth = 64 << 20
	// compileGrowth is enough for two texts of 10 000 rules.
	compileGrowth = 64 << 20
	// minGCPercent is the least growth, in percent of the heap in use. A heap that would grow
	// beyond the memory bound grows by no more, since evictions and values that grow leave garbage
	// as large as they are.
	minGCPercent = 20
	// smallHeap is the size in bytes that a smaller heap is taken to have.
	smallHeap = 16 << 20
	// followEvery is the interval between changes of the growth.
	followEvery = time.Second
	// The server is at rest after quietIntervals intervals with at most quietBytes of
	// allocations. Then garbage of releaseFrom is returned to the system, which otherwise waits
	// for two minutes.
	quietIntervals = 3
	quietBytes     = 1 << 20
	releaseFrom    = 16 << 20
)

// newCollector returns a collector that has set nothing yet.
func newCollector(growth int64) *collector {
	return &collector{limit: debug.SetMemoryLimit(-1), growth: growth}
}

// bound sets the soft memory limit: the memory bound of keys, in bytes, plus a quarter of it
// and 64 MB for the rest of the server. A bound of 0 removes the limit.
func (c *collector) bound(maxMemory int64) {
	c.mu.Lock()
	limit := c.limit
	c.maxMemory = 0
	if maxMemory > 0 && maxMemory < math.MaxInt64/2 {
		c.maxMemory = maxMemory
		limit = maxMemory + maxMemory/4 + 64<<20
	}
	c.mu.Unlock()
	debug.SetMemoryLimit(limit)
	c.adapt(readHeap().live)
}

// follow adapts the growth to the heap, and returns garbage to the system at rest, until ctx ends.
func (c *collector) follow(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			pace.Collect()
			h := readHeap()
			c.adapt(h.live)
			if c.rests(h) {
				debug.FreeOSMemory()
			}
		}
	}
}

// A heap has three counts of bytes: allocated since the start, of the objects in the heap
// (with garbage), and in use at the last collection.
type heap struct{ allocated, objects, live uint64 }

// readHeap reads the runtime's metrics.
func readHeap() heap {
	all := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"}}
	metrics.Read(all)
	return heap{all[0].Value.Uint64(), all[1].Value.Uint64(), all[2].Value.Uint64()}
}

// rests reports whether the server is at rest with much garbage.
func (c *collector) rests(h heap) bool {
	if c.quiet++; h.allocated-c.allocated > quietBytes {
		c.quiet = 0
	}
	c.allocated = h.allocated
	if c.quiet < quietIntervals || h.objects < h.live+releaseFrom {
		return false
	}
	c.quiet = 0
	return true
}

// adapt sets the growth for a heap with so many bytes in use, if it differs by a tenth. Cost:
// if so, the program is stopped for some 20 us.
func (c *collector) adapt(live uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	percent := c.gcPercent(live)
	if percent == c.percent || percent != minGCPercent && 10*max(percent-c.percent, c.percent-percent) < c.percent {
		return
	}
	c.percent = percent
	pace.SetGrowth(percent, max(percent, compilePercent(live)))
}

// compilePercent returns the growth in percent while rules are compiled, for a heap with so
// many bytes in use. The runtime takes smaller heaps for a heap of 4 MB.
func compilePercent(live uint64) int {
	return int((heapGrowth + compileGrowth) * 100 / max(live, 4<<20))
}

// gcPercent returns the growth in percent for a heap with so many bytes in use. The caller must
// hold c.mu.
func (c *collector) gcPercent(live uint64) int {
	heap, growth := int64(max(live, smallHeap)), c.growth
	if c.maxMemory > 0 {
		growth = min(growth, c.maxMemory-heap)
	}
	return int(max(growth*100/heap, minGCPercent))
}
