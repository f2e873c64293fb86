package values

import "limitsrv/engine/siphash"

// A Store holds the contents of values. It grants that two Stores with the same seed
// show the same values after the same operations, whatever their memory looks like.
//
// Concurrency: none, reading included. A frozen Store, see Freeze, may be read while its
// origin changes.
type Store struct {
	memory
	key     siphash.Key
	changes uint64
	garbage []discarded // contents to be freed
	scratch []byte      // the stored form of an argument
	member  []byte      // of a sorted set, to be removed
	digits  []byte      // of an integer in a snapshot
}

// discarded is a tree, or the rest of a list, to be freed.
type discarded struct {
	blob  blobRef
	order uint8 // of the tree, or listOrder
	level uint8 // of nodes above the leaves
}

const listOrder = 255

// New returns an empty Store. The seed, which should be secret, determines the order of
// large hashes, sets and scans.
func New(seed [16]byte) *Store { return &Store{key: siphash.KeyOf(seed)} }

// A Head is all that an owner keeps of a value. The zero Head is the empty value. Count
// is the number of elements; a value without elements has no contents. Change differs
// between any two states of values of a Store.
type Head struct {
	Ref    Ref
	Count  int
	Change uint64
}

// removed counts n removed elements. A value without elements has no contents.
func (h *Head) removed(n int) {
	h.Count -= n
	if h.Count == 0 {
		h.Ref = 0
	}
}

// A Ref names the contents of a value: the form in 4 bits, the length of a text or of a
// packed sequence, or the height of a tree, in 28 bits, and the blob: a text, a packed
// sequence, the root of a tree, the head of a sorted set or the first chunk of a list. 0
// is no contents.
type Ref uint64

// A form is a way to store a value. The numbers are in snapshots.
type form uint8

const (
	noForm        form = iota
	stringWhole        // a text that was set as a whole
	stringChanged      // a text that was changed in part
	hashPacked
	hashTree
	listPacked
	listChunks
	setInts
	setPacked
	setTree
	sortedPacked
	sortedTree
	formsEnd
)

// A Kind is a kind of value.
type Kind uint8

const (
	NoKind Kind = iota // of no contents
	KindString
	KindHash
	KindList
	KindSet
	KindSortedSet
)

// Kind returns the kind of the value.
func (r Ref) Kind() Kind {
	switch r.form() {
	case stringWhole, stringChanged:
		return KindString
	case hashPacked, hashTree:
		return KindHash
	case listPacked, listChunks:
		return KindList
	case setInts, setPacked, setTree:
		return KindSet
	case sortedPacked, sortedTree:
		return KindSortedSet
	}
	return NoKind
}

const (
	lengthBits = 28
	blobBits   = 32
)

func makeRef(f form, length int, blob blobRef) Ref {
	return Ref(f)<<(lengthBits+blobBits) | Ref(length)<<blobBits | Ref(blob)
}

func (r Ref) form() form { return form(r >> (lengthBits + blobBits)) }

func (r Ref) length() int { return int(r >> blobBits & (1<<lengthBits - 1)) }

func (r Ref) blob() blobRef { return blobRef(r) }

// Limits of a value that is stored packed, and shown as packed. They are the limits of
// Redis 7.2 without configuration.
const (
	maxPacked     = 128     // fields, members
	maxPackedText = 64      // bytes of each
	maxInts       = 512     // members of a set of integers
	maxPackedList = 8 << 10 // bytes of a list in the form of Redis
	maxEmbedded   = 44      // bytes of a string
)

// Encoding returns the name that OBJECT ENCODING has for the contents.
func (r Ref) Encoding() string {
	switch r.form() {
	case stringWhole:
		if r.length() <= maxEmbedded {
			return "embstr"
		}
		return "raw"
	case stringChanged:
		return "raw"
	case hashPacked, listPacked, setPacked, sortedPacked:
		return "listpack"
	case hashTree, setTree:
		return "hashtable"
	case setInts:
		return "intset"
	case listChunks:
		return "quicklist"
	case sortedTree:
		return "skiplist"
	}
	return ""
}

// Bytes returns the memory of the Store: all pages in use with their heads, and for a
// text or packed sequence beyond 4 KB all of its buffer. It is 0 without contents.
func (s *Store) Bytes() int64 { return s.bytes }

// UsedBytes returns the memory of the contents: Bytes without the heads of pages and the
// room in pages that contents freed earlier have left. It falls with each value freed,
// while Bytes falls only when pages are empty.
func (s *Store) UsedBytes() int64 { return s.used }

// CopiedBytes returns the memory beyond Bytes that exists because a frozen Store needs
// it.
func (s *Store) CopiedBytes() int64 { return s.copied }

// Full reports whether the Store is close to the number of pages that it can name, about
// 64 GB of small values or 8 million of more than 4 KB. An operation beyond it panics.
func (s *Store) Full() bool { return s.pages > maxPages-maxPages/16 }

// Freeze returns a Store with the present contents, which no later change alters. It can
// be read only, and only by the functions that do not change a value, at any time and in
// parallel to changes of s. It panics if s is frozen already. Thaw ends the freeze.
//
// Cost: 8 bytes are copied for every 32 pages of 8 KB. Later, a first change to a page of
// s copies it.
func (s *Store) Freeze() *Store {
	if s.shared != 0 {
		panic("values: Freeze of a frozen Store")
	}
	return &Store{memory: s.memory.freeze(), key: s.key, changes: s.changes}
}

// Thaw ends a freeze: nothing is copied any more. The frozen Store must not be used
// afterwards.
func (s *Store) Thaw() { s.thaw() }

// SawChange makes later changes greater than change, which was read from a snapshot.
func (s *Store) SawChange(change uint64) { s.changes = max(s.changes, change) }
