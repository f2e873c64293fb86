package engine

import "crypto/sha1"

// Document returns a document, or nil. Concurrency: it may be called during an Apply, and then
// returns the document before or after it. Cost: logarithmic in the documents; no lock.
func (e *Engine) Document(space Space, name string) *Document { return e.documents.of(space).get(name) }

// Documents returns the documents of a space in ascending order of their names, of one
// moment. The caller must not change the slice. Concurrency: as for Document. Cost: a load.
func (e *Engine) Documents(space Space) []*Document { return e.documents.of(space).list }

// DocumentsVersion returns the number of changes of a space so far. If two answers are equal,
// nothing has changed in between. Concurrency: as for Document. Cost: a load.
func (e *Engine) DocumentsVersion(space Space) uint64 { return e.documents.of(space).version }

// Document returns a document, or nil.
func (tx *Tx) Document(space Space, name string) *Document { return tx.e.Document(space, name) }

// Documents returns the documents of a space in ascending order of their names. The caller
// must not change the slice.
func (tx *Tx) Documents(space Space) []*Document { return tx.e.Documents(space) }

// DocumentsVersion returns the number of changes of a space so far.
func (tx *Tx) DocumentsVersion(space Space) uint64 { return tx.e.DocumentsVersion(space) }

// DocumentsBytes returns the number of bytes of the documents of a space.
func (tx *Tx) DocumentsBytes(space Space) int { return tx.e.documents.of(space).bytes }

// SetDocument sets the document of a name, in place of an earlier document. It returns an
// error, and changes nothing, if that would exceed a bound. Requires: the call may touch any
// key, see Commands.Keys. Cost: linear in the text, and in the documents of the space, about a
// nanosecond each.
func (tx *Tx) SetDocument(space Space, name, text string) error {
	tx.entersAll()
	m := &tx.e.documents
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.of(space)
	d := &Document{Space: space, Name: name, Text: text, Version: old.version + 1, Set: tx.now}
	set, err := old.with(d)
	if err != nil {
		return err
	}
	tx.writes()
	if tx.sums {
		tx.effects.addBytes(d.appendTo(nil))
	}
	set.version = d.Version
	m.sets[space].Store(set)
	return nil
}

// DropDocument drops a document, and reports whether it existed. Requires and costs: as for
// SetDocument.
func (tx *Tx) DropDocument(space Space, name string) bool {
	if tx.Document(space, name) == nil {
		return false
	}
	tx.DropDocumentsFunc(space, func(d *Document) bool { return d.Name == name })
	return true
}

// DropDocuments drops all documents of a space, if there are any. Requires and costs: as for
// SetDocument.
func (tx *Tx) DropDocuments(space Space) {
	if len(tx.Documents(space)) > 0 {
		tx.DropDocumentsFunc(space, func(*Document) bool { return true })
	}
}

// DropDocumentsFunc drops the documents of a space that drop accepts, as a single change.
// Requires: drop accepts a document. Requires and costs: as for SetDocument.
func (tx *Tx) DropDocumentsFunc(space Space, drop func(*Document) bool) {
	tx.entersAll()
	tx.writes()
	m := &tx.e.documents
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.of(space)
	set := &documentSet{version: old.version + 1}
	for _, d := range old.list {
		if drop(d) {
			if tx.sums {
				tx.effects.add(d.Version, dropped)
			}
			continue
		}
		set.list = append(set.list, d)
		set.bytes += d.bytes()
	}
	m.sets[space].Store(set)
}

// entersAll panics unless the call has entered all shards.
func (tx *Tx) entersAll() {
	if tx.only == nil {
		n := 0
		for range tx.entered.each {
			n++
		}
		if n == len(tx.e.shards) {
			return
		}
	}
	panic("engine: a call changes documents without naming all keys")
}

// Source returns a source that is not flushed, or nil. Cost: a lock and a lookup.
func (e *Engine) Source(id SourceID) *Source { return e.sources.get(id) }

// SourceNamed returns a source that is not flushed by its ID in hexadecimal, in any case, or
// nil. Cost: a comparison if it was found lately, otherwise as Source.
func (e *Engine) SourceNamed(name []byte) *Source { return known(e.sources.named(name)) }

// SourceNamed is the engine's SourceNamed.
func (tx *Tx) SourceNamed(name []byte) *Source { return tx.e.SourceNamed(name) }

// AnySourceNamed returns a source, flushed or not, or nil.
func (tx *Tx) AnySourceNamed(name []byte) *Source { return tx.e.sources.named(name) }

// Sources returns the number of sources, and of their bytes.
func (e *Engine) Sources() (n, bytes int) {
	m := &e.sources
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.list), m.bytes
}

// AddLearn appends a Learn of a text.
func (b *Batch) AddLearn(text []byte) {
	b.learns = append(b.learns, sha1.Sum(text))
	b.Ops = append(b.Ops, Op{Kind: Learn, ID: text})
}

// AddFlush appends a Learn that flushes all sources.
func (b *Batch) AddFlush() {
	b.learns = append(b.learns, SourceID{})
	b.Ops = append(b.Ops, Op{Kind: Learn, N: 1})
}

// Learns reports whether a source will be known after the Learns of AddLearn and AddFlush.
// decided is false if these do not tell.
func (b *Batch) Learns(id SourceID) (known, decided bool) {
	for i := len(b.learns) - 1; i >= 0; i-- {
		switch b.learns[i] {
		case id:
			return true, true
		case SourceID{}:
			return false, true
		}
	}
	return false, false
}
