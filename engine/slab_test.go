package engine

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"limitsrv/internal/testing/testwait"
)

// A slabModel is the expected content of each page's buffer.
type slabModel struct {
	*testing.T
	slab  slab
	pages []pageNumber
	fills map[pageNumber][]byte
	made  int // maximum number of pages so far
}

func (m *slabModel) add() {
	n := m.slab.add(uint8(len(m.pages)), 7)
	if _, there := m.fills[n]; there {
		m.Fatalf("page %d was created, but exists already", n)
	}
	m.pages, m.fills[n] = append(m.pages, n), nil
	m.made = max(m.made, len(m.pages))
}

func (m *slabModel) resize(n pageNumber, class int, fill byte) {
	p := m.slab.resize(m.slab.page(n), class)
	if len(p.buf) != pageSizes[class] || p.slots() != 0 || p.live() != 0 {
		m.Fatalf("page %d of class %d: buffer of %d bytes, %+v", n, class, len(p.buf), *p.pageHead)
	}
	m.fills[n] = bytes.Repeat([]byte{fill}, pageSizes[class])
	copy(p.buf, m.fills[n])
}

func (m *slabModel) drop(i int) {
	n := m.pages[i]
	m.slab.drop(m.slab.page(n))
	m.pages[i] = m.pages[len(m.pages)-1]
	m.pages = m.pages[:len(m.pages)-1]
	delete(m.fills, n)
}

// check compares all buffers, and the slab's memory with the expected size.
func (m *slabModel) check() {
	m.Helper()
	used, held := m.made*pageHeadBytes, 0
	for n, fill := range m.fills {
		p := m.slab.page(n)
		if p.number != n || !bytes.Equal(p.buf, fill) {
			m.Fatalf("page %d has number %d and not the content written", n, p.number)
		}
		used += len(fill)
	}
	if m.slab.bytes != int64(used) {
		m.Fatalf("slab counts %d bytes, want %d", m.slab.bytes, used)
	}
	most := 0
	for class := range m.slab.classes {
		c, size := &m.slab.classes[class], pageSizes[class]
		for _, chunk := range c.chunks {
			held += len(chunk)
		}
		// Up to half of the chunks is unused, and sizes may not divide a chunk.
		if n := len(c.owners) * size; n > 0 {
			most += max(2*n, firstChunkBytes) + 2*size + min(n, slabChunkBytes)
		} else {
			most += keptChunkBytes
		}
	}
	if held > most || len(m.slab.spareChunks) > maxSpareChunks {
		m.Fatalf("slab holds %d bytes for %d, want at most %d; %d spare chunks", held, used, most, len(m.slab.spareChunks))
	}
}

// TestSlab creates, resizes and drops pages: first mostly creates, then mostly drops.
func TestSlab(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	m := &slabModel{T: t, fills: map[pageNumber][]byte{}}
	for step := range 12_000 {
		growing := step/3000%2 == 0
		switch x := r.IntN(10); {
		case len(m.pages) == 0 || x == 0 || x < 4 && growing:
			m.add()
		case x < 4:
			m.drop(r.IntN(len(m.pages)))
		default:
			class := min(r.IntN(len(pageSizes)+4), r.IntN(len(pageSizes)))
			m.resize(m.pages[r.IntN(len(m.pages))], class, byte(step))
		}
		if step%200 == 0 {
			m.check()
		}
	}
	for len(m.pages) > 0 {
		m.drop(0)
	}
	m.check()
}

// TestTableIsInvisible checks that the data of a page has no pointers, and that a head
// has the size that is counted.
func TestTableIsInvisible(t *testing.T) {
	testwait.Sequential(t)
	head := reflect.TypeFor[pageHead]()
	for i := range head.NumField() {
		if f := head.Field(i); f.Type.Kind() < reflect.Int || f.Type.Kind() > reflect.Uint64 {
			t.Errorf("%s of a page is a %s, want an integer", f.Name, f.Type)
		}
	}
	if n := unsafe.Sizeof(pageHead{}) + unsafe.Sizeof(pageNumber(0)); n != pageHeadBytes {
		t.Errorf("a page takes %d bytes besides its buffer, want pageHeadBytes, %d", n, pageHeadBytes)
	}
	for _, size := range pageSizes {
		if size%cellUnit != 0 || size > slabChunkBytes {
			t.Errorf("a buffer of %d bytes does not divide into cellUnits, or does not fit a chunk", size)
		}
	}
	e := New(Options{Shards: 4})
	fill(e, benchParams, 20_000)
	for i := range e.shards {
		s := &e.shards[i]
		pointers := len(s.slab.heads)
		for class := range s.slab.classes {
			pointers += len(s.slab.classes[class].chunks)
		}
		if pages := int(s.slab.fresh); pointers > pages/2 {
			t.Errorf("shard %d has %d pointers for %d pages", i, pointers, pages)
		}
	}
}
