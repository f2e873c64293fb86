package hugepages

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// open returns a Mover. The tests need a system with huge pages: Linux 6.1 or later.
func open(t *testing.T) *Mover {
	t.Helper()
	m, err := New()
	if err != nil {
		t.Skip("this system has no huge pages: ", err)
	}
	return m
}

// mapped returns memory of a number of blocks, of which none is resident.
func (m *Mover) mapped(t *testing.T, blocks int) []byte {
	t.Helper()
	area, err := syscall.Mmap(-1, 0, (blocks+1)*int(m.bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(area) })
	from := addressOf(area)
	return area[m.firstBlock(from)-from:][:blocks*int(m.bytes)]
}

func addressOf(memory []byte) uintptr { return uintptr(unsafe.Pointer(&memory[0])) }

// inHugePages returns the bytes in huge pages of the mapping that includes an address, by smaps.
func inHugePages(t *testing.T, address uintptr) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	within := false
	for line := range bytes.Lines(text) {
		if from, to, ok := anonymous(line); ok {
			within = from <= address && address < to
			continue
		}
		if fields := bytes.Fields(line); within && string(fields[0]) == "AnonHugePages:" {
			kB, err := strconv.Atoi(string(fields[1]))
			if err != nil {
				t.Fatal(err)
			}
			return kB << 10
		}
	}
	t.Fatalf("%#x is in no mapping", address)
	return 0
}

// TestPass: filled blocks are moved once, with their contents, and others are not.
func TestPass(t *testing.T) {
	m := open(t)
	const blocks = 4
	area := m.mapped(t, blocks)
	size := int(m.bytes)
	for i := range area[:3*size-os.Getpagesize()] { // two blocks, and all but a page of another
		area[i] = byte(i * 31 >> 8)
	}
	want := slices.Clone(area[:3*size-os.Getpagesize()])
	before := inHugePages(t, addressOf(area))
	m.pass(func(time.Duration) bool { return true })
	if got := inHugePages(t, addressOf(area)) - before; got != 2*size {
		t.Errorf("%d bytes were moved into huge pages, want %d", got, 2*size)
	}
	if !bytes.Equal(area[:len(want)], want) {
		t.Error("the contents changed")
	}
	if m.filled(addressOf(area[2*size:])) {
		t.Error("a block that was not filled is resident")
	}
	for i := range blocks {
		if _, moved := m.moved[addressOf(area[i*size:])]; moved != (i < 2) {
			t.Errorf("block %d: moved %t", i, moved)
		}
	}
	before = inHugePages(t, addressOf(area))
	area[3*size-1] = 1
	m.pass(func(time.Duration) bool { return true })
	if got := inHugePages(t, addressOf(area)) - before; got != size {
		t.Errorf("when the third block was filled %d more bytes are in huge pages, want %d", got, size)
	}
}

// TestPassAgain: a block that the runtime has divided is moved again, in a later pass.
func TestPassAgain(t *testing.T) {
	m := open(t)
	area := m.mapped(t, 1)
	all := func(time.Duration) bool { return true }
	fill := func() {
		for i := range area {
			area[i] = 1
		}
	}
	fill()
	m.pass(all)
	if err := syscall.Madvise(area[:os.Getpagesize()], syscall.MADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	fill()
	divided := inHugePages(t, addressOf(area))
	for range passes {
		m.pass(all)
	}
	if got := inHugePages(t, addressOf(area)) - divided; got < len(area) {
		t.Errorf("%d bytes of the divided block are in huge pages again, want %d", got, len(area))
	}
}

// TestPassEnds: a pass ends when it is told to.
func TestPassEnds(t *testing.T) {
	m := open(t)
	area := m.mapped(t, 3)
	for i := range area {
		area[i] = 1
	}
	calls := 0
	m.pass(func(time.Duration) bool { calls++; return false })
	if calls != 1 || len(m.moved) > 1 {
		t.Errorf("%d calls, %d blocks moved, want one", calls, len(m.moved))
	}
}

func TestAnonymous(t *testing.T) {
	for _, tt := range []struct {
		line     string
		from, to uintptr
		ok       bool
	}{
		{"c000000000-c000400000 rw-p 00000000 00:00 0 \n", 0xc000000000, 0xc000400000, true},
		{"c000000000-c000400000 rw-p 00000000 00:00 0    [anon: Go: heap]\n", 0xc000000000, 0xc000400000, true},
		{"c000400000-c004000000 ---p 00000000 00:00 0 \n", 0, 0, false},
		{"7ffc1000-7ffc3000 rw-p 00000000 00:00 0    [stack]\n", 0, 0, false},
		{"00e00000-00f00000 rw-p 00a00000 fe:00 4711    /usr/bin/limitsrv\n", 0, 0, false},
		{"7f0000000000-7f0000200000 rw-s 00000000 00:00 0 \n", 0, 0, false},
		{"AnonHugePages:      2048 kB\n", 0, 0, false},
		{"\n", 0, 0, false},
	} {
		if from, to, ok := anonymous([]byte(tt.line)); ok != tt.ok || ok && (from != tt.from || to != tt.to) {
			t.Errorf("%q: %#x, %#x, %t, want %#x, %#x, %t", tt.line, from, to, ok, tt.from, tt.to, tt.ok)
		}
	}
}
