package main

import (
	"context"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"limitsrv/pace"
)

// A collector sets the growth of the heap between two runs of the garbage collector. The heap
// is mostly keys, which hold no pointers, so that a collection is cheap, and garbage is memory
// that keys could use. A small heap may grow by heapGrowth, because each entry of a cluster's
// log leaves garbage, and collections for every few megabytes took a tenth of a node's
// processor time. It may grow by compileGrowth more while rules are compiled, see
// pace.SetGrowth; that garbage is collected within followEvery.
//
// Concurrency: safe for concurrent use.
type collector struct {
	limit int64 // GOMEMLIMIT, used while there is no memory bound

	mu      sync.Mutex
	bounded bool
	percent int // as set

	allocated uint64 // in bytes since the start, at the last call of rests; follow only
	quiet     int    // calls of rests in turn that saw few allocations; follow only
}

const (
	// heapGrowth is the growth between two collections, as far as the percentages permit.
	heapGrowth = 16 << 20
	// compileGrowth is enough for two texts of 10 000 rules.
	compileGrowth = 64 << 20
	// minGCPercent and maxGCPercent bound the growth, in percent of the heap in use. With a
	// memory bound it is minGCPercent, since evictions and values that grow leave garbage as
	// large as they are.
	minGCPercent = 20
	maxGCPercent = 100
	// followEvery is the interval at which the growth is set anew.
	followEvery = time.Second
	// quietIntervals is the number of intervals with at most quietBytes of allocations after
	// which the server is at rest. Then garbage of releaseFrom is returned to the system, which
	// otherwise waits for two minutes.
	quietIntervals = 3
	quietBytes     = 1 << 20
	releaseFrom    = 16 << 20
)

// newCollector returns a collector that has set nothing yet.
func newCollector() *collector { return &collector{limit: debug.SetMemoryLimit(-1)} }

// bound sets the soft memory limit: the memory bound of keys, in bytes, plus a quarter of it
// and 64 MB for the rest of the server. A bound of 0 is none.
func (c *collector) bound(maxMemory int64) {
	c.mu.Lock()
	limit := c.limit
	if c.bounded = maxMemory > 0 && maxMemory < math.MaxInt64/2; c.bounded {
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

// A heap is the bytes allocated since the start, those of the objects in the heap, garbage
// included, and those that the last collection found in use.
type heap struct{ allocated, objects, live uint64 }

// readHeap reads the runtime's metrics.
func readHeap() heap {
	all := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
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
	percent := minGCPercent
	if !c.bounded {
		percent = gcPercent(live)
	}
	if percent == c.percent || percent != minGCPercent && 10*max(percent-c.percent, c.percent-percent) < c.percent {
		return
	}
	c.percent = percent
	pace.SetGrowth(percent, max(percent, compilePercent(live)))
}

// compilePercent returns the growth in percent while rules are compiled, for a heap with so
// many bytes in use. The runtime takes smaller heaps for one of 4 MB.
func compilePercent(live uint64) int {
	return int((heapGrowth + compileGrowth) * 100 / max(live, 4<<20))
}

// gcPercent returns the growth in percent for an unbounded heap with so many bytes in use.
func gcPercent(live uint64) int {
	return int(min(max(heapGrowth*100/max(live, 1), minGCPercent), maxGCPercent))
}
