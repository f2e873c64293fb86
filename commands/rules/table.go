package rules

import (
	"hash/maphash"
)

// seed is the seed of all hashes. These never leave the process.
var seed = maphash.MakeSeed()

// anyValue is the hash in place of a value's, for entries that hold for every value.
const anyValue = 0x9e3779b97f4a7c15

// A table finds a number by the number of a node, a key, and a value or any value. It is
// open addressing with linear probing, at most half full. Source: Knuth, The Art of
// Computer Programming, volume 3, section 6.4, algorithm L.
type table struct {
	slots []slot // a power of two; nil if it is empty
	used  int
}

type slot struct {
	hash       uint64
	key, value string
	node       int32
	to         int32 // 1 more than the number; 0: an empty slot
	any        bool
}

// mix combines the hashes of a key and a value with a node.
func mix(node int32, key, value uint64) uint64 {
	h := key ^ (value<<23 | value>>41) ^ uint64(uint32(node))*0x9e3779b97f4a7c15
	h *= 0xff51afd7ed558ccd
	return h ^ h>>32
}

// get returns the number for a key and a value with their hashes; ok is false without a
// number.
func (t *table) get(node int32, key, value []byte, keyHash, valueHash uint64) (to int32, ok bool) {
	if t.slots == nil {
		return 0, false
	}
	hash := mix(node, keyHash, valueHash)
	for i := hash; ; i++ {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		switch {
		case s.to == 0:
			return 0, false
		case s.hash == hash && s.node == node && !s.any && s.key == string(key) && s.value == string(value):
			return s.to - 1, true
		}
	}
}

// getAny returns the number for a key with any value.
func (t *table) getAny(node int32, key []byte, keyHash uint64) (to int32, ok bool) {
	if t.slots == nil {
		return 0, false
	}
	hash := mix(node, keyHash, anyValue)
	for i := hash; ; i++ {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		switch {
		case s.to == 0:
			return 0, false
		case s.hash == hash && s.node == node && s.any && s.key == string(key):
			return s.to - 1, true
		}
	}
}

// add sets the number for a key and a value, or any value. It returns the number that is
// there already, with ok false.
func (t *table) add(node int32, key, value string, any bool, to int32) (was int32, ok bool) {
	if 2*(t.used+1) > len(t.slots) {
		t.grow()
	}
	valueHash := uint64(anyValue)
	if !any {
		valueHash = maphash.String(seed, value)
	}
	hash := mix(node, maphash.String(seed, key), valueHash)
	for i := hash; ; i++ {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		switch {
		case s.to == 0:
			*s = slot{hash, key, value, node, to + 1, any}
			t.used++
			return to, true
		case s.hash == hash && s.node == node && s.any == any && s.key == key && s.value == value:
			return s.to - 1, false
		}
	}
}

// replace sets the number of a value that the table has.
func (t *table) replace(node int32, key, value string, to int32) {
	hash := mix(node, maphash.String(seed, key), maphash.String(seed, value))
	for i := hash; ; i++ {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if s.hash == hash && s.node == node && !s.any && s.key == key && s.value == value {
			s.to = to + 1
			return
		}
	}
}

// reserve makes room for so many entries in an empty table.
func (t *table) reserve(n int) {
	if n > 0 {
		size := 8
		for size < 2*n {
			size *= 2
		}
		t.slots = make([]slot, size)
	}
}

func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, max(8, 2*len(old)))
	for i := range old {
		if old[i].to == 0 {
			continue
		}
		for j := old[i].hash; ; j++ {
			if s := &t.slots[j&uint64(len(t.slots)-1)]; s.to == 0 {
				*s = old[i]
				break
			}
		}
	}
}
