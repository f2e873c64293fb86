package engine

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"limitsrv/testwait"
)

// A slabTwin knows what should be in the buffer of each page.
type slabModel struct {
	*testing.T
	slab  slab
	pages []pageNumber
	fills map[pageNumber][]byte
	made  int // most pages at once
}

func (tw *slabModel) add() {
	n := tw.slab.add(uint8(len(tw.pages)), 7)
	if _, there := tw.fills[n]; there {
		tw.Fatalf("page %d was made, and is there already", n)
	}
	tw.pages, tw.fills[n] = append(tw.pages, n), nil
	tw.made = max(tw.made, len(tw.pages))
}

func (tw *slabModel) resize(n pageNumber, class int, fill byte) {
	p := tw.slab.resize(tw.slab.page(n), class)
	if len(p.buf) != pageSizes[class] || p.slots() != 0 || p.live() != 0 {
		tw.Fatalf("page %d of class %d: buffer of %d bytes, %+v", n, class, len(p.buf), *p.pageHead)
	}
	tw.fills[n] = bytes.Repeat([]byte{fill}, pageSizes[class])
	copy(p.buf, tw.fills[n])
}

func (tw *slabModel) drop(i int) {
	n := tw.pages[i]
	tw.slab.drop(tw.slab.page(n))
	tw.pages[i] = tw.pages[len(tw.pages)-1]
	tw.pages = tw.pages[:len(tw.pages)-1]
	delete(tw.fills, n)
}

// check compares all buffers, and what the slab holds with what it needs.
func (tw *slabModel) check() {
	tw.Helper()
	used, held := tw.made*pageHeadBytes, 0
	for n, fill := range tw.fills {
		p := tw.slab.page(n)
		if p.number != n || !bytes.Equal(p.buf, fill) {
			tw.Fatalf("page %d has number %d and another content than was written", n, p.number)
		}
		used += len(fill)
	}
	if tw.slab.bytes != int64(used) {
		tw.Fatalf("slab counts %d bytes, want %d", tw.slab.bytes, used)
	}
	most := 0
	for class := range tw.slab.classes {
		c, size := &tw.slab.classes[class], pageSizes[class]
		for _, chunk := range c.chunks {
			held += len(chunk)
		}
		// Up to half of the chunks is not in use, and none need come out even.
		if n := len(c.owners) * size; n > 0 {
			most += max(2*n, firstChunkBytes) + 2*size + min(n, slabChunkBytes)
		}
	}
	if held > most || len(tw.slab.spareChunks) > maxSpareChunks {
		tw.Fatalf("slab holds %d bytes for %d, want at most %d; %d spare chunks", held, used, most, len(tw.slab.spareChunks))
	}
}

// TestSlab makes, resizes and drops pages: mostly makes, then mostly drops.
func TestSlab(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	tw := &slabModel{T: t, fills: map[pageNumber][]byte{}}
	for step := range 12_000 {
		growing := step/3000%2 == 0
		switch x := r.IntN(10); {
		case len(tw.pages) == 0 || x == 0 || x < 4 && growing:
			tw.add()
		case x < 4:
			tw.drop(r.IntN(len(tw.pages)))
		default:
			class := min(r.IntN(len(pageSizes)+4), r.IntN(len(pageSizes)))
			tw.resize(tw.pages[r.IntN(len(tw.pages))], class, byte(step))
		}
		if step%200 == 0 {
			tw.check()
		}
	}
	for len(tw.pages) > 0 {
		tw.drop(0)
	}
	tw.check()
}

// TestTableIsInvisible says that what a table has for each page has no pointers,
// and that a head is as long as is counted.
func TestTableIsInvisible(t *testing.T) {
	testwait.Sequential(t)
	head := reflect.TypeFor[pageHead]()
	for i := range head.NumField() {
		if f := head.Field(i); f.Type.Kind() < reflect.Int || f.Type.Kind() > reflect.Uint64 {
			t.Errorf("%s of a page is a %s, and no integer", f.Name, f.Type)
		}
	}
	if n := unsafe.Sizeof(pageHead{}) + unsafe.Sizeof(pageNumber(0)); n != pageHeadBytes {
		t.Errorf("a page takes %d bytes besides its buffer, pageHeadBytes is %d", n, pageHeadBytes)
	}
	for _, size := range pageSizes {
		if size%cellUnit != 0 || size > slabChunkBytes {
			t.Errorf("a buffer of %d bytes is no number of cellUnits that a chunk holds", size)
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
