package engine

// prefetchOps is the number of ops in one prefetch.
const prefetchOps = 32

// soughtSlots remembers the slots that a prefetch has sought, by hash, so that find need not
// seek them again. An entry may be wrong: it may be of another hash, or of another state of the
// page.
type soughtSlots [1 << soughtBits]uint16

const (
	soughtBits = 8
	// soughtShift selects the bits of a hash that choose its entry: above the lowest, which may
	// be 0 in all hashes.
	soughtShift = 16
)

func (t *soughtSlots) note(h uint64, slot int) { t[h>>soughtShift%(1<<soughtBits)] = uint16(slot) }

// seek returns p.seek of the tag of a hash.
func (t *soughtSlots) seek(p page, h uint64) int {
	want := tag(h, p.depth)
	i := int(t[h>>soughtShift%(1<<soughtBits)])
	if i < p.slots() && p.tagAt(i) == want && (i == 0 || p.tagAt(i-1) < want) {
		return i
	}
	return p.seek(want)
}

// prefetchChunks reads the first and the last chunk of those slots that have some, and the last
// entry of each. There are at most prefetchOps pages, each with a slot.
func (s *shard) prefetchChunks(pages []page, slots []int) (sum uint64) {
	var logs [prefetchOps]logState
	for i, p := range pages {
		if p.slots() > 0 && s.params.get(p.param(p.offset(slots[i]))).alg().chunked {
			logs[i] = loadLog(s.load(p, slots[i]))
		}
	}
	for i := range pages {
		if l := &logs[i]; l.first != 0 {
			oldest, _ := lastEntry(s.chunks.words(l.first))
			newest, _ := lastEntry(s.chunks.words(l.last))
			sum += uint64(oldest) + uint64(newest)
		}
	}
	return sum
}

// prefetchNewest reads the newest entries of the logs among the slots from..to-1 of a page: a
// purge needs them, and no other. Requires: there are at most prefetchOps slots.
func (s *shard) prefetchNewest(p page, from, to int) {
	var (
		last [prefetchOps]chunkRef
		sum  uint64
	)
	for i := from; i < to; i++ {
		if s.params.get(p.param(p.offset(i))).alg().chunked {
			last[i-from] = loadLog(s.load(p, i)).last
		}
	}
	for _, r := range last[:to-from] {
		if r != 0 {
			newest, _ := lastEntry(s.chunks.words(r))
			sum += uint64(newest)
		}
	}
	s.prefetched = sum
}
