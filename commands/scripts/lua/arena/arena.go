// Package arena allocates values that are released together.
package arena

import "unsafe"

const (
	// smallest is the minimum length of a block, and largestBytes its maximum size.
	smallest     = 64
	largestBytes = 256 << 10
)

// largest returns the maximum length of a block.
func (a *Arena[T]) largest() int {
	var one T
	return max(smallest, largestBytes/int(unsafe.Sizeof(one)))
}

// An Arena hands out parts of blocks. After Reset it hands out the same memory again, so
// that a repeated sequence of calls allocates nothing. The zero value is ready to use.
// Concurrency: not safe for concurrent use.
type Arena[T any] struct {
	blocks [][]T
	block  int // index of the block in use
	used   int // elements of it
	total  int // elements of all blocks
}

// Take returns n zero values. They are valid until Reset.
func (a *Arena[T]) Take(n int) []T {
	part := a.Raw(n)
	clear(part)
	return part
}

// Raw is Take for a caller that sets all values: they may be left from earlier use.
func (a *Arena[T]) Raw(n int) []T {
	if a.block < len(a.blocks) {
		if block, end := a.blocks[a.block], a.used+n; end <= len(block) {
			part := block[a.used:end:end]
			a.used = end
			return part
		}
	}
	return a.more(n)
}

// One returns a pointer to a zero value. It is valid until Reset.
func (a *Arena[T]) One() *T {
	if a.block < len(a.blocks) {
		if block := a.blocks[a.block]; a.used < len(block) {
			one := &block[a.used]
			a.used++
			var zero T
			*one = zero
			return one
		}
	}
	return &a.Take(1)[0]
}

// more is Raw beyond the block in use.
func (a *Arena[T]) more(n int) []T {
	largest := a.largest()
	if n > largest {
		return make([]T, n)
	}
	for a.block++; a.block < len(a.blocks); a.block++ {
		if n <= len(a.blocks[a.block]) {
			a.used = 0
			return a.Raw(n)
		}
	}
	size := max(n, min(largest, max(smallest, a.total)))
	a.blocks = append(a.blocks, make([]T, size))
	a.total += size
	a.block, a.used = len(a.blocks)-1, 0
	return a.Raw(n)
}

// Reset ends the use of all values. Blocks beyond keep elements are released.
func (a *Arena[T]) Reset(keep int) {
	for a.total > keep && len(a.blocks) > 0 {
		last := len(a.blocks) - 1
		a.total -= len(a.blocks[last])
		a.blocks[last] = nil
		a.blocks = a.blocks[:last]
	}
	a.block, a.used = 0, 0
}
