package main

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestGCPercent(t *testing.T) {
	const mb = 1 << 20
	for _, tt := range []struct {
		growth, maxMemory int64
		live              uint64
		want              int
	}{
		{heapGrowth, 0, 0, 100}, {heapGrowth, 0, mb, 100}, {heapGrowth, 0, 16 * mb, 100}, {heapGrowth, 0, 32 * mb, 50},
		{heapGrowth, 0, 80 * mb, 20}, {heapGrowth, 0, 10240 * mb, 20},
		{clusterGrowth, 0, 0, 400}, {clusterGrowth, 0, 64 * mb, 100}, {clusterGrowth, 0, 400 * mb, 20},
		{clusterGrowth, 1024 * mb, 64 * mb, 100}, {clusterGrowth, 100 * mb, 64 * mb, 56},
		{clusterGrowth, 70 * mb, 64 * mb, 20}, {clusterGrowth, 50 * mb, 64 * mb, 20}, {clusterGrowth, mb, 0, 20},
	} {
		c := newCollector(tt.growth)
		c.maxMemory = tt.maxMemory
		if got := c.gcPercent(tt.live); got != tt.want {
			t.Errorf("a growth of %d MB within %d MB, %d in use: %d %%, want %d", tt.growth/mb, tt.maxMemory/mb, tt.live/mb, got,
				tt.want)
		}
	}
}

func TestCompilePercent(t *testing.T) {
	for _, tt := range []struct {
		live uint64
		want int
	}{{0, 2000}, {4 << 20, 2000}, {20 << 20, 400}, {1 << 30, 7}} {
		if got := compilePercent(tt.live); got != tt.want {
			t.Errorf("compilePercent(%d) = %d, want %d", tt.live, got, tt.want)
		}
	}
}

func TestCollectorSetsTheRuntime(t *testing.T) {
	limit := debug.SetMemoryLimit(-1)
	percent := debug.SetGCPercent(77)
	defer func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	}()
	c := newCollector(heapGrowth)
	for _, tt := range []struct {
		bound, limit int64
		least        bool
	}{{0, limit, false}, {100 << 20, 189 << 20, false}, {20 << 20, 89 << 20, false}, {8 << 20, 74 << 20, true},
		{math.MaxInt64, limit, false}} {
		c.bound(tt.bound)
		if got := debug.SetMemoryLimit(-1); got != tt.limit {
			t.Errorf("memory limit with a bound of %d = %d, want %d", tt.bound, got, tt.limit)
		}
		set := debug.SetGCPercent(c.percent)
		if set != c.percent || tt.least != (set == minGCPercent) {
			t.Errorf("collections with a bound of %d: at %d %%, the collector has %d", tt.bound, set, c.percent)
		}
	}
}

func TestGarbageIsReturnedAtRest(t *testing.T) {
	const mb = 1 << 20
	c := newCollector(heapGrowth)
	allocated := uint64(1000 * mb)
	for i, tt := range []struct {
		more, objects, live uint64 // MB
		want                bool
	}{
		{0, 900, 800, false}, // it has allocated since the start
		{1, 900, 800, false},
		{1, 900, 800, false},
		{2, 900, 800, false}, // too much
		{1, 900, 800, false},
		{0, 900, 800, false},
		{1, 900, 800, true}, // three quiet intervals
		{0, 900, 800, false},
		{0, 900, 800, false},
		{0, 815, 800, false}, // too little garbage
		{0, 700, 800, false},
		{0, 816, 800, true},
	} {
		allocated += tt.more * mb
		if got := c.rests(heap{allocated, tt.objects * mb, tt.live * mb}); got != tt.want {
			t.Errorf("interval %d: rests = %v, want %v", i, got, tt.want)
		}
	}
}
