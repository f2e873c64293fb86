// Package slab makes many small slices and strings in few allocations, for values that live
// as long as each other: the garbage collector then visits few objects.
package slab

import "strings"

const (
	length    = 32      // of the memory for slices
	textBytes = 4 << 10 // of the memory for strings
)

// A Slices makes slices of its memory. The zero value is ready. Concurrency: one goroutine.
type Slices[T any] struct{ free []T }

// Make returns a slice of zero values with a length and a capacity of n. It never shares
// elements with other slices. Cost: an allocation for every length elements.
func (s *Slices[T]) Make(n int) []T {
	if n > len(s.free) {
		s.free = make([]T, max(n, length))
	}
	all := s.free[:n:n]
	s.free = s.free[n:]
	return all
}

// A Texts makes strings of its memory. The zero value is ready. Concurrency: one goroutine.
type Texts struct{ memory strings.Builder }

// Make returns a text as a string. Cost: a copy, and an allocation for every 4 kB.
func (t *Texts) Make(text []byte) string {
	if t.memory.Cap()-t.memory.Len() < len(text) {
		t.memory = strings.Builder{}
		t.memory.Grow(max(len(text), textBytes))
	}
	from := t.memory.Len()
	t.memory.Write(text)
	return t.memory.String()[from:]
}
