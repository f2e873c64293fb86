package live

import (
	"hash/maphash"
	"sync/atomic"
)

// DefaultSeries is the default of Options.Series.
const DefaultSeries = 1000

// MaxSeries bounds Options.Series.
const MaxSeries = 100_000

// A series has the counters of a label of a limit.
type series struct {
	of      *counter // of the limit
	label   string
	counter counter
	next    *series // in of.series
}

// A labelTable finds the series of labels, which clients choose: at most so many as it is made
// for. It is open addressing with linear probing, at most half full; entries are only added,
// so that readers and writers need no lock. Source: Knuth, The Art of Computer Programming,
// volume 3, section 6.4, algorithm L.
type labelTable struct {
	slots []atomic.Pointer[series] // a power of two
	used  atomic.Int64
	most  int
}

// labelSeed is the seed of the hashes of labels.
var labelSeed = maphash.MakeSeed()

func newLabelTable(most int) *labelTable {
	size := 2
	for size < 2*most {
		size *= 2
	}
	return &labelTable{slots: make([]atomic.Pointer[series], size), most: most}
}

// get returns the series of a label of a limit, which it makes if there is room for another
// series, or nil.
func (t *labelTable) get(of *counter, label []byte) *series {
	var fresh *series
	for i := maphash.Bytes(labelSeed, label); ; i++ {
		at := &t.slots[i&uint64(len(t.slots)-1)]
		x := at.Load()
		if x == nil {
			if fresh == nil && t.used.Add(1) > int64(t.most) {
				t.used.Add(-1)
				return nil
			}
			if fresh == nil {
				fresh = &series{of: of, label: string(label)}
			}
			if at.CompareAndSwap(nil, fresh) {
				fresh.link()
				return fresh
			}
			x = at.Load()
		}
		if x.of == of && x.label == string(label) {
			if fresh != nil {
				t.used.Add(-1)
			}
			return x
		}
	}
}

// link adds a series to the series of its limit.
func (x *series) link() {
	for {
		x.next = x.of.series.Load()
		if x.of.series.CompareAndSwap(x.next, x) {
			return
		}
	}
}

// take adds the series of a limit of another table. Requires: no other goroutine uses t. Series
// beyond the bound stay with the limit, and are found no more.
func (t *labelTable) take(of *counter) {
	for x := of.series.Load(); x != nil && t.used.Load() < int64(t.most); x = x.next {
		for i := maphash.String(labelSeed, x.label); ; i++ {
			if at := &t.slots[i&uint64(len(t.slots)-1)]; at.CompareAndSwap(nil, x) {
				t.used.Add(1)
				break
			}
		}
	}
}
