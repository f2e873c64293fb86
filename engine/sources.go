package engine

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"limitsrv/engine/siphash"
)

// Bounds of the sources of an engine. Above MaxSources or MaxSourcesBytes the sources learned first
// are dropped. From level 2 on, flushed sources are dropped first.
const (
	MaxSourceBytes  = 1 << 20
	MaxSources      = 10_000
	MaxSourcesBytes = 16 << 20
)

// A SourceID is the SHA-1 of a source's text.
type SourceID [sha1.Size]byte

// A Source is the text of a script or library that calls may refer to. It is part of the
// state: an op of kind Learn adds it, and snapshots contain it. It does not change.
//
// A flushed source is unknown until it is learned again; it then counts as learned last. Its text
// stays until another source needs the space. A client that used the source on a node that lags
// need not send the text again.
type Source struct {
	ID   SourceID
	Text string
	// Compiled is for the implementation of Commands: a form of Text. Concurrency: as for
	// any atomic value.
	Compiled atomic.Value

	name    sourceName
	most    atomic.Int64 // steps of the longest run
	order   uint64       // number of the sources learned so far, this source included
	flushed bool
}

// A sourceName is a SourceID in hexadecimal, in lower case.
type sourceName [2 * sha1.Size]byte

func newSource(id SourceID, text string, order uint64, flushed bool) *Source {
	s := &Source{ID: id, Text: text, order: order, flushed: flushed}
	hex.Encode(s.name[:], id[:])
	return s
}

// ParseSourceID returns an ID that is given in hexadecimal, in any case. No allocation.
func ParseSourceID(name []byte) (id SourceID, ok bool) {
	if len(name) != len(sourceName{}) {
		return id, false
	}
	_, err := hex.Decode(id[:], name)
	return id, err == nil
}

// sources are the sources of an engine. They follow from the Learns alone, and so does
// their order.
type sources struct {
	mu      sync.RWMutex
	list    []*Source // in ascending order
	index   map[SourceID]*Source
	bytes   int
	learned uint64
	dropped int64         // for SourceStats
	changed atomic.Uint64 // the number of calls of changes
	// recent are those found last by their names, at a place that the name gives. It is
	// emptied by any change, within the lock.
	recent [recentSources]atomic.Pointer[Source]
}

const recentSources = 64

// get returns a source that is not flushed, or nil.
func (m *sources) get(id SourceID) *Source {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return known(m.index[id])
}

// known returns s unless it is flushed or nil.
func known(s *Source) *Source {
	if s == nil || s.flushed {
		return nil
	}
	return s
}

// named returns a source by its name, in any case, or nil.
func (m *sources) named(name []byte) *Source {
	if len(name) != len(sourceName{}) {
		return nil
	}
	place := &m.recent[(name[0]<<4^name[1])%recentSources]
	if s := place.Load(); s != nil && string(s.name[:]) == string(name) {
		return s
	}
	id, ok := ParseSourceID(name)
	if !ok {
		return nil
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.index[id]
	if s != nil {
		place.Store(s)
	}
	return s
}

// changes must be called within the lock before a change.
func (m *sources) changes() {
	m.changed.Add(1)
	for i := range m.recent {
		m.recent[i].Store(nil)
	}
}

// texts appends the present sources in order, as they are to stand in a snapshot.
func (m *sources) texts(dst []blockText) []blockText {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, s := range m.list {
		dst = append(dst, s)
	}
	return dst
}

// flushLevel is the first level of batches that drops flushed sources first. A Learn of a text
// is always logged with the level of a call of its batch.
const flushLevel = 2

// apply applies a Learn of a batch with this level; 0: the newest. It reports whether it changed
// anything.
func (m *sources) apply(op *Op, level uint8) (changed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes()
	switch text := op.ID; {
	case len(text) > 0:
		return m.learn(text, level != 0 && level < flushLevel)
	case !op.flushes():
		changed = len(m.list) > 0
		m.list, m.index, m.bytes, m.learned = nil, nil, 0, 0
		return changed
	}
	for i, s := range m.list {
		changed = m.set(i, s, true) || changed
	}
	return changed
}

// learn makes a text known as learned last, and drops other sources above the bounds. If old is
// set, a flushed source keeps its place. It returns false if the text was known already.
func (m *sources) learn(text []byte, old bool) (changed bool) {
	s := newSource(sha1.Sum(text), string(text), m.learned+1, false)
	if present := m.index[s.ID]; present != nil {
		at, _ := m.search(present.order)
		if old || !present.flushed {
			return m.set(at, present, false)
		}
		m.drop(at)
	}
	m.insert(len(m.list), s)
	for len(m.list) > MaxSources || m.bytes > MaxSourcesBytes {
		at := 0
		if !old {
			at = max(0, slices.IndexFunc(m.list, func(x *Source) bool { return x.flushed }))
		}
		m.drop(at)
		m.dropped++
	}
	return true
}

// drop removes list[at].
func (m *sources) drop(at int) {
	s := m.list[at]
	delete(m.index, s.ID)
	m.bytes -= len(s.Text)
	m.list = slices.Delete(m.list, at, at+1)
}

// set flushes the source s at an index of list, or makes it known again, by a copy: s may be
// part of a snapshot.
func (m *sources) set(at int, s *Source, flushed bool) (changed bool) {
	if s.flushed == flushed {
		return false
	}
	c := newSource(s.ID, s.Text, s.order, flushed)
	m.list[at], m.index[s.ID] = c, c
	return true
}

// search returns the index in list of an order, or the index to insert it at.
func (m *sources) search(order uint64) (at int, found bool) {
	return slices.BinarySearchFunc(m.list, order, func(x *Source, order uint64) int { return cmp.Compare(x.order, order) })
}

// insert adds a source at an index of list.
func (m *sources) insert(at int, s *Source) {
	if m.index == nil {
		m.index = make(map[SourceID]*Source)
	}
	m.index[s.ID] = s
	m.list = slices.Insert(m.list, at, s)
	m.bytes += len(s.Text)
	m.learned = max(m.learned, s.order)
}

var errSource = errors.New("a source is there twice, or there are too many")

// restore adds sources of a snapshot, unless they are there already, with the same order.
func (m *sources) restore(read []blockSource) error {
	if len(read) == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changes()
	for _, r := range read {
		s := newSource(sha1.Sum(r.text), string(r.text), r.order, r.flushed)
		at, found := m.search(s.order)
		switch known := m.index[s.ID]; {
		case known != nil && found && known.order == s.order:
		case known != nil || found || len(m.list) == MaxSources || m.bytes+len(s.Text) > MaxSourcesBytes:
			return errSource
		default:
			m.insert(at, s)
		}
	}
	return nil
}

// digest returns the part of the sources in Digest.
func (m *sources) digest(key siphash.Key) (digest uint64) {
	var b []byte
	for _, s := range m.texts(nil) {
		b = s.appendTo(b[:0])
		digest += key.Sum(b)
	}
	return digest
}

// forgetRuns forgets the steps of all runs.
func (m *sources) forgetRuns() {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, s := range m.list {
		s.most.Store(0)
	}
}
