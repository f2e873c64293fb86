package engine

import "math/bits"

// A Batch is ops to be carried out in order at one time, and room for the
// answers. It is reused: Reset keeps its memory, and in steady state a batch
// costs no allocation. A batch is used with one Engine only.
type Batch struct {
	Ops []Op
	// Atomic asks that nobody sees a state between the ops.
	Atomic bool
	// Stale says that whoever has it carried out may answer it, if it only looks, from
	// a state that is behind. Apply takes no notice.
	Stale bool
	// Full asks that no key is made: a Take or Acquire that would make one, where
	// there is no live key, is answered NoMemory, and its group with it. Unlike
	// the bound it depends on nothing but the state, the time and the batch.
	Full bool
	// Decisions are the answers, one for each op, valid after Apply until Reset.
	Decisions []Decision
	// Evicted are the live keys that Apply dropped for want of memory, in ascending
	// order of Before; valid until Reset. They do not follow from the ops: without
	// the bound, or with other keys, none would have been dropped.
	Evicted []Eviction

	readOnly bool // the shards do not see the time
	scratch  scratch
}

// An Eviction is a key that was dropped before the op of that index was carried
// out, and after the one before it: as a Forget between them would have done.
type Eviction struct {
	Before int
	Key    []byte
}

// Reset empties the batch.
func (b *Batch) Reset() {
	b.Ops = b.Ops[:0]
	b.Decisions = b.Decisions[:0]
	b.Evicted = b.Evicted[:0]
	b.Atomic, b.Stale, b.Full = false, false, false
}

// Looks says whether the batch can change nothing: it has only Peeks, Expects,
// Watches, and Takes, Refunds and Charges of no permits. It may be given to Look.
func (b *Batch) Looks() bool { return allReadOnly(b.Ops) }

func allReadOnly(ops []Op) bool {
	for i := range ops {
		if !ops[i].readOnly() {
			return false
		}
	}
	return true
}

// scratch is what Apply works with.
type scratch struct {
	shards []uint16 // of the key of each op
	hashes []uint64 // of the key, without the bits that are the shard's number
	order  []int32
	next   []int32 // for each shard, where its next op goes in order
}

// addEviction appends a copy of a key, in the memory of an entry that the list
// had before.
func addEviction(list []Eviction, before int, key []byte) []Eviction {
	if len(list) == cap(list) {
		list = append(list, Eviction{})
	} else {
		list = list[:len(list)+1]
	}
	v := &list[len(list)-1]
	v.Before, v.Key = before, append(v.Key[:0], key...)
	return list
}

// evictedBefore takes over what a shard evicted for the op i.
func (b *Batch) collectEvicted(i int, s *shard) {
	if len(s.evicted) == 0 {
		return
	}
	for _, v := range s.evicted {
		b.Evicted = addEviction(b.Evicted, i, v.Key)
	}
	s.evicted = s.evicted[:0]
}

// byShard is the numbers of the ops from..to-1 sorted by shard, those of one
// shard in their order: a counting sort.
func (b *Batch) sortByShard(from, to int) []int32 {
	order := b.scratch.order[:to-from]
	if len(order) == 1 {
		order[0] = int32(from)
		return order
	}
	shards, next := b.scratch.shards[from:to], b.scratch.next
	clear(next)
	for _, s := range shards {
		next[s+1]++
	}
	for i := 1; i < len(next); i++ {
		next[i] += next[i-1]
	}
	for i, s := range shards {
		order[next[s]] = int32(from + i)
		next[s]++
	}
	return order
}

// A shardSet is a set of numbers of shards.
type shardSet [maxShards / 64]uint64

func (t *shardSet) add(shard uint16) { t[shard/64] |= 1 << (shard % 64) }

func (t *shardSet) addAll(shards int) {
	for i := range shards {
		t.add(uint16(i))
	}
}

// each calls yield with the numbers in ascending order.
func (t *shardSet) each(yield func(int) bool) {
	for i, word := range t {
		for ; word != 0; word &= word - 1 {
			if !yield(i*64 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}
