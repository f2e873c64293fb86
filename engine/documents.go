package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"limitsrv/engine/siphash"
)

// Bounds of a document.
const (
	MaxDocumentName  = 256
	MaxDocumentBytes = 1 << 20
)

// Bounds of each space. A document counts with the bytes of its name and its text. They are
// not part of MemoryBytes.
var (
	MaxDocuments      = [spaces]int{Libraries: 10_000, Rules: 12_000}
	MaxDocumentsBytes = [spaces]int{Libraries: 16 << 20, Rules: 64 << 20}
)

// A Document is a text with a name. It is part of the state: calls set and drop it, and
// snapshots contain it; a Flush leaves it. It does not change: another text is another
// Document.
type Document struct {
	Space Space
	Name  string
	Text  string
	// Version is the number of changes of the space so far, the setting of this document
	// included. No two documents of a space ever have the same.
	Version uint64
	// Set is the time of the call that set it.
	Set Instant
	// Compiled is for the implementation of Commands: a form of Text. Concurrency: as for
	// any atomic value.
	Compiled atomic.Value
}

// documents are the documents of an engine. A call that changes them has entered all shards,
// so each other call sees them unchanged from its start to its end.
type documents struct {
	mu   sync.Mutex // held while a set is replaced
	sets [spaces]atomic.Pointer[documentSet]
}

// A documentSet is the content of a space. It does not change.
type documentSet struct {
	list    []*Document // in ascending order of their names
	bytes   int
	version uint64 // number of changes so far
}

// noDocuments is the set of a space that never changed.
var noDocuments documentSet

// of returns the set of a space.
func (m *documents) of(space Space) *documentSet {
	if set := m.sets[space].Load(); set != nil {
		return set
	}
	return &noDocuments
}

// clear drops all documents of all spaces, and their versions.
func (m *documents) clear() {
	for i := range m.sets {
		m.sets[i].Store(nil)
	}
}

// texts appends the documents of all spaces, as they are to stand in a snapshot.
func (m *documents) texts(dst []blockText) []blockText {
	for space := range spaces {
		set := m.of(space)
		if set.version == 0 {
			continue
		}
		dst = append(dst, &Document{Space: space, Version: set.version})
		for _, d := range set.list {
			dst = append(dst, d)
		}
	}
	return dst
}

// digest returns the part of the documents in Digest.
func (m *documents) digest(key siphash.Key) (digest uint64) {
	var b []byte
	for _, d := range m.texts(nil) {
		b = d.appendTo(b[:0])
		digest += key.Sum(b)
	}
	return digest
}

func (d *Document) bytes() int { return len(d.Name) + len(d.Text) }

func (set *documentSet) get(name string) *Document {
	if i, found := set.search(name); found {
		return set.list[i]
	}
	return nil
}

// search returns the index in list of a name, or the index to insert it at.
func (set *documentSet) search(name string) (at int, found bool) {
	return slices.BinarySearchFunc(set.list, name, func(d *Document, name string) int { return cmp.Compare(d.Name, name) })
}

// with returns a copy of the set, of the same version, with a document in place of the
// document of its name.
func (set *documentSet) with(d *Document) (*documentSet, error) {
	at, found := set.search(d.Name)
	c := &documentSet{bytes: set.bytes + d.bytes(), version: set.version}
	behind := at
	if found {
		c.bytes -= set.list[at].bytes()
		behind++
	}
	switch n := at + 1 + len(set.list) - behind; {
	case len(d.Name) == 0 || len(d.Name) > MaxDocumentName:
		return nil, fmt.Errorf("a name of %d bytes, 1 to %d are allowed", len(d.Name), MaxDocumentName)
	case len(d.Text) > MaxDocumentBytes:
		return nil, fmt.Errorf("a text of %d bytes, at most %d are allowed", len(d.Text), MaxDocumentBytes)
	case n > MaxDocuments[d.Space]:
		return nil, fmt.Errorf("%d texts, at most %d are allowed", n, MaxDocuments[d.Space])
	case c.bytes > MaxDocumentsBytes[d.Space]:
		return nil, fmt.Errorf("%d bytes in all texts, at most %d are allowed", c.bytes, MaxDocumentsBytes[d.Space])
	default:
		c.list = append(append(append(make([]*Document, 0, n), set.list[:at]...), d), set.list[behind:]...)
	}
	return c, nil
}

var errDocument = errors.New("a document is there twice")

// restore adds documents of a snapshot, unless they are there already, of the same version:
// all or, on an error, no document.
func (m *documents) restore(read []blockDocument) error {
	if len(read) == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var sets [spaces]*documentSet
	for _, r := range read {
		set := sets[r.space]
		if set == nil {
			set = m.of(r.space)
		}
		next := &documentSet{list: set.list, bytes: set.bytes, version: max(set.version, r.version)}
		if len(r.name) > 0 {
			var err error
			if next, err = next.restored(&r); err != nil {
				return err
			}
		}
		sets[r.space] = next
	}
	for space, set := range sets {
		if set != nil {
			m.sets[space].Store(set)
		}
	}
	return nil
}

// restored returns the set with a document of a snapshot.
func (set *documentSet) restored(r *blockDocument) (*documentSet, error) {
	known := slices.ContainsFunc(set.list, func(d *Document) bool { return d.Version == r.version })
	switch d := set.get(string(r.name)); {
	case d != nil && d.Version == r.version:
		return set, nil
	case d != nil || known:
		return nil, errDocument
	}
	return set.with(&Document{
		Space: r.space, Name: string(r.name), Text: string(r.text), Version: r.version, Set: r.set,
	})
}
