package value

import (
	"math"

	"limitsrv/commands/scripts/lua/arena"
)

// Sizes that are counted for the objects of a run, in bytes. They are part of a limit
// that must be the same on all machines, so they do not follow from unsafe.Sizeof.
const (
	stringSize = 32
	tableSize  = 96
	slotSize   = 24
	nodeSize   = 56
)

// Elements that a heap keeps between two runs.
const (
	keptBytes   = 512 << 10
	keptObjects = 16 << 10
)

// OutOfMemory is the panic of a heap that passes its limit.
type OutOfMemory struct{}

// OutOfSteps is the panic of a heap that passes its number of steps.
type OutOfSteps struct{}

// bytesPerStep is the number of bytes that count as a step when they are taken: to clear
// them, and for the garbage collector, they need about as much time as a statement.
const bytesPerStep = 32

// maxHops is the length of a search in a table that costs nothing extra, and hopsPerStep
// the number of further places that count as a step: many keys may have the same hash.
const (
	maxHops     = 8
	hopsPerStep = 8
)

// A Heap holds the strings and tables of a run. All that was ever made in the run counts,
// since nothing is released before its end. Concurrency: not safe for concurrent use.
type Heap struct {
	// Steps is the number of steps that the run may still take. Memory and long searches in
	// tables take some.
	Steps int64
	// Prepaid is set if long searches for the length of a table, and the growth of tables, take
	// steps too.
	Prepaid bool
	// Together is set if Hold has an effect.
	Together bool

	limit   int64
	left    int64 // bytes until it
	held    int64 // see Hold
	serial  uint32
	bytes   arena.Arena[byte]
	strings arena.Arena[String]
	tables  arena.Arena[Table]
	slots   arena.Arena[Value]
	nodes   arena.Arena[node]
	short   [256]*String // strings of a byte
}

// Reset ends a run: its values must not be used again. The next run may take limit bytes
// and a number of steps.
func (h *Heap) Reset(limit, steps int64) {
	h.limit, h.left, h.Steps, h.serial, h.held = limit, limit, steps, 0, 0
	h.bytes.Reset(keptBytes)
	h.strings.Reset(keptObjects)
	h.tables.Reset(keptObjects)
	h.slots.Reset(keptObjects)
	h.nodes.Reset(keptObjects)
}

// Left returns the number of bytes that may still be taken.
func (h *Heap) Left() int64 { return h.left }

// Hold adds n bytes to the buffers of functions that wait for a call. They count against the limit
// together with a later buffer, and not as taken. A negative n ends this.
func (h *Heap) Hold(n int) {
	if h.Together {
		h.held += int64(n)
	}
}

// CheckRoom ends the run if it may not take n bytes besides the bytes of Hold.
func (h *Heap) CheckRoom(n int) {
	if int64(n)+h.held > h.left {
		h.Charge(n + int(h.held))
	}
}

// Used returns the number of bytes that were taken.
func (h *Heap) Used() int64 { return h.limit - h.left }

// Unbound lifts the limits for the rest of the run. The caller does work with a bound of its
// own meanwhile.
func (h *Heap) Unbound() {
	used := h.Used()
	h.limit, h.left, h.Steps = math.MaxInt64, math.MaxInt64-used, math.MaxInt64
}

// Charge counts n bytes, and the steps for them. It panics with [OutOfMemory] or
// [OutOfSteps] beyond a limit.
func (h *Heap) Charge(n int) {
	if !h.charge(n) {
		h.end()
	}
}

// charge is Charge, but reports whether the limits permit it.
func (h *Heap) charge(n int) bool {
	h.left -= int64(n)
	h.Steps -= int64(n / bytesPerStep)
	return h.left|h.Steps >= 0
}

// end ends a run that has passed a limit.
func (h *Heap) end() {
	if h.left < 0 {
		panic(OutOfMemory{})
	}
	panic(OutOfSteps{})
}

func (h *Heap) chargeHops(hops int) { h.chargeSteps(hops / hopsPerStep) }

func (h *Heap) chargeSteps(n int) {
	if h.Steps -= int64(n); h.Steps < 0 {
		h.end()
	}
}

// NextSerial numbers the tables and functions of a run.
func (h *Heap) NextSerial() uint32 {
	h.serial++
	return h.serial
}

// Room returns n bytes for the contents of a string. The caller must set all of them.
func (h *Heap) Room(n int) []byte {
	h.Charge(n)
	return h.bytes.Raw(n)
}

// Adopt makes a string of bytes that do not change until the end of the run.
func (h *Heap) Adopt(b []byte) *String {
	h.Charge(stringSize)
	s := &h.strings.Raw(1)[0]
	*s = String{bytes: b}
	return s
}

// Copy makes a string of a copy of b.
func (h *Heap) Copy(b []byte) *String {
	if len(b) == 1 {
		return h.char(b[0])
	}
	room := h.Room(len(b))
	copy(room, b)
	return h.Adopt(room)
}

// CopyString makes a string of a copy of text.
func (h *Heap) CopyString(text string) *String {
	room := h.Room(len(text))
	copy(room, text)
	return h.Adopt(room)
}

// char returns the string of a byte. It is made once.
func (h *Heap) char(c byte) *String {
	if h.short[c] == nil {
		h.short[c] = NewString(string([]byte{c}))
	}
	return h.short[c]
}

// NewTable makes a table with room for array elements and hash other entries.
func (h *Heap) NewTable(array, hash int) *Table {
	h.Charge(tableSize)
	t := h.tables.One()
	t.heap, t.serial = h, h.NextSerial()
	if array > 0 {
		t.array = h.takeSlots(array)
	}
	if hash > 0 {
		t.setNodes(h, hash)
	}
	return t
}

func (h *Heap) takeSlots(n int) []Value {
	h.Charge(n * slotSize)
	return h.slots.Take(n)
}

func (h *Heap) takeNodes(n int) []node {
	h.Charge(n * nodeSize)
	return h.nodes.Take(n)
}

// NewTable makes a table that outlives all runs. It must be frozen before a run uses it.
// Growth of it takes memory of Go. serial replaces its address.
func NewTable(serial uint32) *Table { return &Table{serial: serial} }
