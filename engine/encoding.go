package engine

import "slices"

// encodings are the names that OBJECT ENCODING has for plain values. Their indexes are sent
// between nodes: append only.
var encodings = [...]string{"int", "embstr", "raw", "listpack", "intset", "hashtable", "quicklist", "skiplist"}

// encoding returns the name that OBJECT ENCODING has for the cell's plain value.
func (c *cell) encoding() string {
	switch {
	case c.params.Alg == Int:
		return "int"
	case c.alg().tail == nil:
		return "embstr"
	}
	return c.head().Ref.Encoding()
}

// previewPlain fills d with the state of a plain value.
func (c *cell) previewPlain(now Instant, used int64, d *Decision) {
	c.fill(now, used, d)
	d.Wait = Never
	d.Remaining = int64(slices.Index(encodings[:], c.encoding()))
}

// Encoding returns the name that OBJECT ENCODING has for a plain value. Requires: d is the
// decision on a Peek at one.
func (d *Decision) Encoding() string {
	if d.Remaining < 0 || d.Remaining >= int64(len(encodings)) {
		return "unknown"
	}
	return encodings[d.Remaining]
}
