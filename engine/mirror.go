package engine

import (
	"cmp"
	"crypto/sha1"
	"slices"
	"strings"
)

// A TextSet names a set of texts that a node without keys copies from another node's engine: the
// documents of a space, or the sources.
type TextSet uint8

// SourceTexts names the sources. A Space names its documents.
const (
	SourceTexts = TextSet(spaces)
	// TextSets is the number of sets.
	TextSets = int(spaces) + 1
)

// A Text is a document or a source. Version is unique in its set: of a document its Version, of a
// source its place in the order of their learning.
type Text struct {
	Name    []byte  `json:"name,omitempty"` // empty: a source
	Text    []byte  `json:"text"`
	Version uint64  `json:"version"`
	Set     Instant `json:"set,omitempty"`
	Flushed bool    `json:"flushed,omitempty"` // of a source
}

// state returns a number that tells versions, flushed or not, apart.
func (t *Text) state() uint64 { return versionState(t.Version, t.Flushed) }

func versionState(version uint64, flushed bool) uint64 {
	if flushed {
		return version<<1 | 1
	}
	return version << 1
}

// A TextMark identifies the contents of a set: equal marks of engines with the same history mean
// equal texts.
type TextMark struct {
	Version uint64 `json:"version"` // the number of changes, of sources of Learns
	Count   int    `json:"count"`
	Sum     uint64 `json:"sum"`
}

// TextChanges returns a number that changes when any [TextSet] changes. Cost: a few atomic loads.
// Concurrency: as for Document.
func (e *Engine) TextChanges() uint64 {
	sum := e.sources.changed.Load()
	for space := range spaces {
		sum += e.DocumentsVersion(space)
	}
	return sum
}

// TextMark returns the mark of a set. Cost: linear in the number of texts. Concurrency: as for
// Document.
func (e *Engine) TextMark(set TextSet) TextMark {
	if set == SourceTexts {
		m := &e.sources
		m.mu.RLock()
		defer m.mu.RUnlock()
		return markOfSources(m.learned, m.list)
	}
	return markOfDocuments(e.documents.of(Space(set)))
}

func markOfSources(learned uint64, list []*Source) TextMark {
	k := TextMark{Version: learned, Count: len(list)}
	for _, s := range list {
		k.Sum += versionState(s.order, s.flushed)
	}
	return k
}

func markOfDocuments(set *documentSet) TextMark {
	k := TextMark{Version: set.version, Count: len(set.list)}
	for _, d := range set.list {
		k.Sum += versionState(d.Version, false)
	}
	return k
}

// TextsAfter returns the texts of a set with a later version in the order of their versions, at
// least one if there is one, and as many as most bytes hold. more: there are others. Concurrency: as
// for Document.
func (e *Engine) TextsAfter(set TextSet, version uint64, most int) (all []Text, more bool) {
	all = slices.DeleteFunc(e.texts(set), func(t Text) bool { return t.Version <= version })
	slices.SortFunc(all, func(a, b Text) int { return cmp.Compare(a.Version, b.Version) })
	for i, t := range all {
		if most -= len(t.Name) + len(t.Text); most < 0 && i > 0 {
			return all[:i], true
		}
	}
	return all, false
}

// TextStates returns a number for each text of a set, which tells its version, flushed or not.
func (e *Engine) TextStates(set TextSet) (all []uint64) {
	for _, t := range e.texts(set) {
		all = append(all, t.state())
	}
	return all
}

// texts returns the texts of a set.
func (e *Engine) texts(set TextSet) (all []Text) {
	if set != SourceTexts {
		for _, d := range e.Documents(Space(set)) {
			all = append(all, Text{[]byte(d.Name), []byte(d.Text), d.Version, d.Set, false})
		}
		return all
	}
	m := &e.sources
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, s := range m.list {
		all = append(all, Text{Text: []byte(s.Text), Version: s.order, Flushed: s.flushed})
	}
	return all
}

// MergeTexts changes a set of an engine without keys to the set of another engine: with added texts
// in place of texts of their names, and unless states is nil, only texts with one of the states.
// It changes nothing, and returns false, if the result does not have the mark. Texts that stay keep
// their compiled form. Concurrency: reads may run meanwhile, another MergeTexts may not.
func (e *Engine) MergeTexts(set TextSet, added []Text, states []uint64, mark TextMark) bool {
	known := make(map[uint64]bool, len(states)) // by version: flushed
	for _, s := range states {
		known[s>>1] = s&1 != 0
	}
	if set == SourceTexts {
		return e.mergeSources(added, states != nil, known, mark)
	}
	return e.mergeDocuments(Space(set), added, states != nil, known, mark)
}

func (e *Engine) mergeDocuments(space Space, added []Text, only bool, known map[uint64]bool, mark TextMark) bool {
	m := &e.documents
	m.mu.Lock()
	defer m.mu.Unlock()
	last := make(map[string]int, len(added)) // by name: the index of its last text
	for i, t := range added {
		last[string(t.Name)] = i
	}
	next := &documentSet{version: mark.Version}
	keep := func(d *Document) {
		if _, ok := known[d.Version]; ok || !only {
			next.list = append(next.list, d)
			next.bytes += d.bytes()
		}
	}
	for _, d := range m.of(space).list {
		if _, replaced := last[d.Name]; !replaced {
			keep(d)
		}
	}
	for i, t := range added {
		if name := string(t.Name); last[name] == i {
			keep(&Document{Space: space, Name: name, Text: string(t.Text), Version: t.Version, Set: t.Set})
		}
	}
	slices.SortFunc(next.list, func(a, b *Document) int { return strings.Compare(a.Name, b.Name) })
	if markOfDocuments(next) != mark {
		return false
	}
	m.sets[space].Store(next)
	return true
}

func (e *Engine) mergeSources(added []Text, only bool, known map[uint64]bool, mark TextMark) bool {
	m := &e.sources
	m.mu.Lock()
	defer m.mu.Unlock()
	last := make(map[SourceID]int, len(added)) // the index of its last text
	for i, t := range added {
		last[sha1.Sum(t.Text)] = i
	}
	var list []*Source
	index, bytes := make(map[SourceID]*Source, mark.Count), 0
	keep := func(s *Source) {
		flushed, ok := known[s.order]
		if only && !ok {
			return
		}
		if only && s.flushed != flushed {
			s = newSource(s.ID, s.Text, s.order, flushed)
		}
		list, index[s.ID], bytes = append(list, s), s, bytes+len(s.Text)
	}
	for _, s := range m.list {
		if _, replaced := last[s.ID]; !replaced {
			keep(s)
		}
	}
	for i, t := range added {
		if id := SourceID(sha1.Sum(t.Text)); last[id] == i {
			keep(newSource(id, string(t.Text), t.Version, t.Flushed))
		}
	}
	slices.SortFunc(list, func(a, b *Source) int { return cmp.Compare(a.order, b.order) })
	if markOfSources(mark.Version, list) != mark {
		return false
	}
	m.changes()
	m.list, m.index, m.bytes, m.learned = list, index, bytes, mark.Version
	return true
}
