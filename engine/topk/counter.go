package topk

import "slices"

// A Counter counts keys in bounded memory. It tracks some keys, each with a count that is
// too high by at most a known error; every other key was seen at most minCount times. A
// count costs a cell of the filter for most untracked keys, and another probe of a table
// for all other keys.
//
// For any keys in any order, minCount is at most total divided by 3/4 of the capacity in
// keys: see prune. Keys are identified by their hashes, which must be under a secret key.
// Concurrency: not safe for concurrent use.
//
// Source: the counters are from A. Metwally et al., "Efficient computation of frequent and
// top-k elements in data streams", ICDT 2005. Dropping many at once, instead of the lowest
// each time, which would need an order maintained at every count, is from D. Anderson et
// al., "A high-performance algorithm for identifying frequent items in data streams", IMC
// 2017. The filter, which excludes rarely seen keys, is from N. Homem and J. P. Carvalho,
// "Finding top-k elements in data streams", Information Sciences 180, 2010.
type Counter struct {
	total int64 // sum of all counts
	// A cell of filter is an upper bound on the count of each untracked key with a hash
	// of that cell, capped at threshold. trackedBit is set if a tracked key has a hash of
	// the same cell.
	filter    []uint16
	threshold uint16       // minCount, capped to the range of a cell
	shift     uint8        // from a hash to the index of its slot
	slots     []slot       // a hash table with linear probing, at most half full
	keys      []trackedKey // by index of slots
	tracked   int          // number of tracked keys
	bytes     []byte       // of the keys; its capacity is a bound
	minCount  int64
}

// A slot with count 0 is free.
type slot struct {
	hash  uint64
	count int64
}

type trackedKey struct {
	error int64 // the key was seen at least count - error times
	at    uint32
	size  uint16
	tag   uint8
}

const (
	// filterShift selects the bits of a hash that choose its cell of the filter: above
	// the lowest, which may be 0 in all hashes, and below those that choose a slot.
	filterShift = 16
	// filterCells is the number of filter cells for each key of the capacity.
	filterCells = 16
	// trackedBit is a bit above all counts of a cell.
	trackedBit = 1 << 15
)

// newCounter returns a Counter with a capacity of keys, a power of two. Requires: so many
// keys of avgKeyBytes have the length of the longest key at least.
func newCounter(keys int) Counter {
	slots := 2 * keys
	t := Counter{
		slots:  make([]slot, slots),
		keys:   make([]trackedKey, slots),
		shift:  65,
		bytes:  make([]byte, 0, keys*avgKeyBytes),
		filter: make([]uint16, filterCells*keys),
	}
	for ; slots > 0; slots /= 2 {
		t.shift--
	}
	return t
}

// Count counts a key with a hash once. Its tag comes back in its Row; keys with different
// tags must have different hashes. No allocation.
func (t *Counter) Count(h uint64, tag uint8, key []byte, scratch *Scratch) {
	t.total++
	if cell := t.cell(h); *cell < t.threshold {
		*cell++
		return
	}
	t.countPassed(h, tag, key, scratch)
}

// Prefetch reads the memory that Count will use for a hash. It returns some value, so that
// the caller can use it and the reads take place.
func (t *Counter) Prefetch(h uint64) uint64 {
	if len(t.filter) == 0 {
		return 0
	}
	return uint64(*t.cell(h)) + t.slots[h>>(t.shift&63)].hash
}

// countPassed counts a key that its filter cell does not exclude, or with a cell that it
// shares with a tracked key.
func (t *Counter) countPassed(h uint64, tag uint8, key []byte, scratch *Scratch) {
	cell := t.cell(h)
	if *cell&trackedBit != 0 {
		if s := &t.slots[t.seek(h)]; s.count > 0 {
			s.count++
			return
		}
		if *cell&^trackedBit < t.threshold {
			*cell++
			return
		}
	}
	t.track(h, tag, key, scratch)
}

// seek returns the slot of a hash, or a free slot to store it in.
func (t *Counter) seek(h uint64) int {
	slots := t.slots
	for i := int(h >> (t.shift & 63)); ; i++ {
		i &= len(slots) - 1
		if s := &slots[i]; s.hash == h || s.count == 0 {
			return i
		}
	}
}

func (t *Counter) cell(h uint64) *uint16 {
	return &t.filter[int(h>>filterShift)&(len(t.filter)-1)]
}

// track starts to track a key that passed the filter: it was seen at most minCount times
// before.
func (t *Counter) track(h uint64, tag uint8, key []byte, scratch *Scratch) {
	for 2*t.tracked == len(t.slots) || len(t.bytes)+len(key) > cap(t.bytes) {
		t.prune(scratch)
	}
	t.insert(listRow{hash: h, count: t.minCount + 1, error: t.minCount, tag: tag}, key)
}

func (t *Counter) insert(r listRow, key []byte) {
	i := t.seek(r.hash)
	t.slots[i] = slot{r.hash, r.count}
	t.keys[i] = trackedKey{r.error, uint32(len(t.bytes)), uint16(len(key)), r.tag}
	t.bytes = append(t.bytes, key...)
	t.tracked++
	*t.cell(r.hash) |= trackedBit
}

// prune drops the keys with the lowest counts: a quarter of all, and all ties. The
// highest count among these is the new minCount.
//
// minCount is never above total/n, where n is three quarters of the tracked keys. Proof:
// let the surplus be the sum of the counts, each less minCount. A count adds at most 1 to
// it. A rise of minCount by d subtracts d for each of at least n keys, because those have
// a count no lower than the new minCount. Each tracked key has a surplus of at least 1,
// so the sum is not negative, and total is at least n times minCount.
func (t *Counter) prune(scratch *Scratch) {
	counts := scratch.counts[:0]
	for i := range t.slots {
		if s := &t.slots[i]; s.count > 0 {
			counts = append(counts, s.count)
			*t.cell(s.hash) &^= trackedBit
		}
	}
	slices.Sort(counts)
	scratch.counts = counts
	t.minCount = counts[(len(counts)-1)/4]
	t.threshold = filterCount(t.minCount)
	tracked := &scratch.tracked
	tracked.reset()
	for i := range t.slots {
		switch s := &t.slots[i]; {
		case s.count > t.minCount:
			t.copyTo(tracked, i)
		case s.count > 0:
			cell := t.cell(s.hash)
			*cell = max(*cell, filterCount(s.count))
		}
	}
	t.dropKeys()
	for i := range tracked.rows {
		r := &tracked.rows[i]
		t.insert(*r, tracked.key(r))
	}
}

func filterCount(n int64) uint16 { return uint16(min(n, trackedBit-1)) }

// dropKeys drops all keys. Their cells keep trackedBit.
func (t *Counter) dropKeys() {
	clear(t.slots)
	t.tracked, t.bytes = 0, t.bytes[:0]
}

// reset drops all keys and counts.
func (t *Counter) reset() {
	t.dropKeys()
	clear(t.filter)
	t.threshold, t.minCount, t.total = 0, 0, 0
}

// listTo copies all counts to l.
func (t *Counter) listTo(l *list) {
	l.reset()
	l.minCount, l.total = t.minCount, t.total
	for i := range t.slots {
		if t.slots[i].count > 0 {
			t.copyTo(l, i)
			l.insertSorted() // most are in order already
		}
	}
}

// copyTo appends slot i to l.
func (t *Counter) copyTo(l *list, i int) {
	s, n := &t.slots[i], &t.keys[i]
	l.add(listRow{hash: s.hash, count: s.count, error: n.error, tag: n.tag}, t.bytes[n.at:n.at+uint32(n.size)])
}
