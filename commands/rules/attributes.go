package rules

import "hash/maphash"

// attributes are the keys that the lists and the rules of a domain name. A request's key is
// looked up once, and its value is hashed only if a table has values of the key.
type attributes struct {
	table table // (0, key, any) -> index in all
	all   []attribute
}

// maxCompared bounds the attributes that are compared with a key in turn. If there are more, the
// key is looked up in the table: its hash costs as much as four comparisons.
const maxCompared = 4

// An attribute is a key of attributes.
type attribute struct {
	key string
	// bucket is the index in flat.buckets of the rules that are found by the key with any
	// value, and ranges the index in lists.ranges; -1: no index.
	bucket, ranges int32
	// listed is set if lists have values of the key, found if rules are found by values.
	listed, found bool
	// decides is set if a value of the key decides whether a rule matches, or its tier.
	decides bool
}

// number returns the index of a key, which it adds if it is new.
func (a *attributes) number(key string) int32 {
	n, fresh := a.table.add(0, key, "", true, int32(len(a.all)))
	if fresh {
		a.all = append(a.all, attribute{key: key, bucket: -1, ranges: -1})
	}
	return n
}

// unnamed is the number of a key that no list and no rule names.
const unnamed = -1

// A given is an attribute of a request, as the tables of its domain need it.
type given struct {
	number int32 // of its key, or unnamed
	// key and value are the hashes of the key and the value. They are undefined if no table has
	// values of the key.
	key, value uint64
}

// give makes g the given of an entry. It tries the number that g has, of another entry: clients
// mostly send the same attributes in the same order.
func (d *Domain) give(g *given, e *Entry) {
	a := &d.attributes
	if n := g.number; uint(n) >= uint(len(a.all)) || a.all[n].key != string(e.Key) {
		g.number = a.find(e.Key)
	}
	if !d.tree.isEmpty() || g.number >= 0 && a.all[g.number].isHashed() {
		g.key, g.value = maphash.Bytes(seed, e.Key), maphash.Bytes(seed, e.Value)
	}
}

// find returns the number of a key, or unnamed.
func (a *attributes) find(key []byte) int32 {
	if len(a.all) > maxCompared {
		if n, ok := a.table.getAny(0, key, maphash.Bytes(seed, key)); ok {
			return n
		}
		return unnamed
	}
	for i := range a.all {
		if a.all[i].key == string(key) {
			return int32(i)
		}
	}
	return unnamed
}

func (a *attribute) isHashed() bool { return a.listed || a.found }

// bitOf returns the bit of a number in part.present, or 0 without a number.
func bitOf(number int32) uint64 { return 1 << uint32(number) }

// An attributeSet is a descriptor with the givens of its entries.
type attributeSet struct {
	entries []Entry
	givens  []given
	present uint64 // as in part
}

// appendPlace appends the index of the first entry whose key has this number. ok is false if no
// entry has such a key.
func (s *attributeSet) appendPlace(places []uint8, number int32) (all []uint8, ok bool) {
	for i := range s.givens {
		if s.givens[i].number == number {
			return append(places, uint8(i)), true
		}
	}
	return places, false
}

// isFirst reports whether no entry before entry i has its key, which has a number.
func (s *attributeSet) isFirst(i int) bool {
	for j := range s.givens[:i] {
		if s.givens[j].number == s.givens[i].number {
			return false
		}
	}
	return true
}
