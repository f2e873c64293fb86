package engine

import "slices"

// A tally counts how often each of a shard's keys was seen, in bounded memory: it
// keeps some keys with a count that is at most too high by a known error, and knows
// of all others that they were seen at most floor times. It costs one cell of the sieve
// for most keys that are not kept, and one probe of a table more for the others.
//
// Whatever the keys and their order, floor is at most total/(3/4 of the keys that
// there is room for): see thin. Keys are told apart by their hashes, which have
// 64 bits with the shard's number, under a secret key.
//
// Source: the counters are those of A. Metwally et al., "Efficient computation of
// frequent and top-k elements in data streams", ICDT 2005. That many are dropped at
// once, in place of the least one each time, which would need an order to be kept up
// with every count, is from D. Anderson et al., "A high-performance algorithm for
// identifying frequent items in data streams", IMC 2017. The sieve, which keeps out
// what was seen too seldom, is the filter of N. Homem and J. P. Carvalho, "Finding
// top-k elements in data streams", Information Sciences 180, 2010.
type heavyHitters struct {
	total int64 // of all counts
	// sieve has of each hash that is not held a bound of how often it was seen, as
	// long as that is below gate. A cell that a hash which is held shares is also inHeld.
	filter    []uint16
	threshold uint16       // floor, or as near to it as a cell of sieve can come
	shift     uint8        // of a hash, to the index of its slot
	slots     []hitterSlot // a hash table with linear probing, at most half full
	keys      []hitterKey  // of the slots of the same index
	tracked   int          // keys
	bytes     []byte       // of the keys; its capacity is the bound
	minCount  int64
}

// A tallySlot without a count is free.
type hitterSlot struct {
	hash  uint64
	count int64
}

type hitterKey struct {
	error int64 // count less error is at most how often the key was seen
	at    uint32
	size  uint32
}

const (
	// tallyShift takes the bits of a hash that choose its cell of the sieve from
	// behind those that a shard's hashes have all 0, and before those that choose a slot.
	filterShift = 16
	// sieveCells is how many cells of the sieve there are for each key.
	filterCells = 16
	// inHeld is a bit above all that a cell counts to.
	trackedBit = 1 << 15
)

// newTally has room for so many keys, a power of two from 16 on: so that the longest
// key has room.
func newHeavyHitters(keys int) heavyHitters {
	slots := 2 * keys
	t := heavyHitters{
		slots:  make([]hitterSlot, slots),
		keys:   make([]hitterKey, slots),
		shift:  65,
		bytes:  make([]byte, 0, keys*avgKeyBytes),
		filter: make([]uint16, filterCells*keys),
	}
	for ; slots > 0; slots /= 2 {
		t.shift--
	}
	return t
}

// count counts a key once.
func (t *heavyHitters) count(h uint64, key []byte, scratch *topScratch) {
	t.total++
	if cell := t.cell(h); *cell < t.threshold {
		*cell++
		return
	}
	t.countPassed(h, key, scratch)
}

// countOpen counts a key whose cell of the sieve is no reason not to hold it, or is
// that of another which is held.
func (t *heavyHitters) countPassed(h uint64, key []byte, scratch *topScratch) {
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
	t.track(h, key, scratch)
}

// seek is the slot of a hash, or the free one where it would be.
func (t *heavyHitters) seek(h uint64) int {
	slots := t.slots
	for i := int(h >> (t.shift & 63)); ; i++ {
		i &= len(slots) - 1
		if s := &slots[i]; s.hash == h || s.count == 0 {
			return i
		}
	}
}

func (t *heavyHitters) cell(h uint64) *uint16 {
	return &t.filter[int(h>>filterShift)&(len(t.filter)-1)]
}

// add holds a key that has come through the sieve: it was seen at most floor times
// before.
func (t *heavyHitters) track(h uint64, key []byte, scratch *topScratch) {
	for 2*t.tracked == len(t.slots) || len(t.bytes)+len(key) > cap(t.bytes) {
		t.prune(scratch)
	}
	t.insert(topRow{hash: h, count: t.minCount + 1, error: t.minCount}, key)
}

func (t *heavyHitters) insert(r topRow, key []byte) {
	i := t.seek(r.hash)
	t.slots[i] = hitterSlot{r.hash, r.count}
	t.keys[i] = hitterKey{r.error, uint32(len(t.bytes)), uint32(len(key))}
	t.bytes = append(t.bytes, key...)
	t.tracked++
	*t.cell(r.hash) |= trackedBit
}

// thin drops the keys with the least counts, a quarter of all and whatever ties
// with them. The highest count among these is the new floor.
//
// No floor is above total/n, where n is three quarters of the keys that were held.
// For let the surplus be the sum of the counts, each less floor: a count adds 1 to
// it at most, and where the floor rises by d it loses d for each of n keys or more,
// as those have a count no lower than the new floor. Who is held has a surplus of
// 1 or more, so the sum is not negative, and total is at least n times floor.
func (t *heavyHitters) prune(scratch *topScratch) {
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

// empty drops all keys. Their cells stay inHeld.
func (t *heavyHitters) dropKeys() {
	clear(t.slots)
	t.tracked, t.bytes = 0, t.bytes[:0]
}

// reset begins anew.
func (t *heavyHitters) reset() {
	t.dropKeys()
	clear(t.filter)
	t.threshold, t.minCount, t.total = 0, 0, 0
}

// list makes l a copy of what the tally knows.
func (t *heavyHitters) list(l *topList) {
	l.reset()
	l.minCount, l.total = t.minCount, t.total
	for i := range t.slots {
		if t.slots[i].count > 0 {
			t.copyTo(l, i)
			l.insertSorted() // most are there already
		}
	}
}

// copyTo appends what slot i holds to l.
func (t *heavyHitters) copyTo(l *topList, i int) {
	s, n := &t.slots[i], &t.keys[i]
	l.add(topRow{hash: s.hash, count: s.count, error: n.error}, t.bytes[n.at:n.at+n.size])
}
