package resp

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// A retainedPart is memory that a borrower retains, with a copy of its content.
type retainedPart struct {
	mem, want []byte
	from      *chunk[byte]
}

// Retained memory keeps its content while other borrowers borrow and release, and only as
// many chunks are allocated as needed.
func TestChunkPool(t *testing.T) {
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	l := chunkPool[byte]{size: 1 << 10, maxSize: 8 << 10}
	var all []retainedPart
	for step := range 20_000 {
		mem := l.lend()
		if len(mem) != 0 || cap(mem) < 256 {
			t.Fatalf("seed %d, step %d: lent %d bytes of %d, want none of 256 or more", seed, step, len(mem), cap(mem))
		}
		used := random.IntN(200)
		if random.IntN(100) == 0 {
			used = random.IntN(4000) // it outgrows the chunk
		}
		for range used {
			mem = append(mem, byte(step))
		}
		if random.IntN(2) == 0 {
			l.outgrown(mem)
		} else {
			all = append(all, retainedPart{mem, bytes.Clone(mem), l.retain(mem)})
		}
		for len(all) > 0 && random.IntN(len(all)+10) >= 10 {
			i := random.IntN(len(all))
			if k := all[i]; !bytes.Equal(k.mem, k.want) {
				t.Fatalf("seed %d, step %d: the retained memory has changed", seed, step)
			}
			l.release(all[i].from)
			all[i] = all[len(all)-1]
			all = all[:len(all)-1]
		}
	}
	if l.size != l.maxSize || len(l.freeChunks) > maxFreeChunks {
		t.Errorf("seed %d: chunks of %d, %d to spare, want %d after larger requests, and at most %d", seed, l.size,
			len(l.freeChunks), l.maxSize, maxFreeChunks)
	}
}

// Many readers retain small parts of few chunks.
func TestPoolOfManyReaders(t *testing.T) {
	in := []byte(strings.Repeat(array("RL.TOKEN", "user:1234567890", "100", "10/1s"), 16))
	p := NewPool(64<<10, 4<<10)
	readers := make([]Reader, 300)
	for range 20 {
		for i := range readers {
			r := &readers[i]
			r.Borrow(p)
			r.Filled(copy(r.Space(), in))
			for args, _ := r.Next(&DefaultLimits, false); args != nil; args, _ = r.Next(&DefaultLimits, false) {
			}
			r.Retain(p)
		}
		for i := range readers {
			readers[i].DiscardArgs()
			readers[i].Release(p)
		}
	}
	if got := cap(p.in.chunk.all) + len(p.in.freeChunks)*p.in.size; got > 1<<20 {
		t.Errorf("%d bytes for input, want at most 1 MB", got)
	}
}

// A reader without a command keeps at most the tail and a few spans, and lent memory
// points to no argument.
func TestIdleReaderHoldsLittle(t *testing.T) {
	p := NewPool(64<<10, 4<<10)
	m := bufferMode{"", func(r *Reader) { r.Borrow(p) }, func(r *Reader) { r.Release(p) }}
	r := new(Reader)
	feed(r, m, []byte(strings.Repeat(array("OP", strings.Repeat("x", 1000)), 200)+"*2\r\n$2\r\nOP\r\n"),
		func() int { return 3000 }, &DefaultLimits, false)
	feed(r, m, []byte("$1\r\nx\r\n"), singleBytes, &DefaultLimits, false)
	if held := cap(r.buf) + cap(r.tail) + 8*cap(r.spans) + 24*cap(r.args); held > 1<<10 {
		t.Errorf("it holds %d bytes besides its struct, want at most 1024", held)
	}
	args := p.args.chunk.all
	for _, a := range args[:cap(args)] {
		if a != nil {
			t.Fatalf("lent memory still points to %q, want it to keep no buffer alive", a)
		}
	}
}
