package topk

import "slices"

// A list is the counts of some keys, in rows sorted by hash; every other key was seen
// at most minCount times. total is the sum of all counts.
//
// Lists of disjoint times can be merged, and cut. As with a Counter, minCount is at most
// total/n, where n is the lower of three quarters of the counters' capacity and the
// smallest number of rows that a list was cut to, plus 1. Proof: surplus (defined at prune)
// is additive under merge; cut lowers it by at least (rows kept + 1) times the increase of
// minCount.
//
// Source: P. Agarwal et al., "Mergeable summaries", PODS 2012.
type list struct {
	rows            []listRow
	bytes           []byte // of the keys
	minCount, total int64
}

// A listRow is a key that was seen at most count times, and at least count - error.
type listRow struct {
	hash         uint64
	count, error int64
	at           uint32 // of the key in its list's bytes
	size         uint16
	tag          uint8
}

// avgKeyBytes is the largest average key length that lets the full number of keys fit.
const avgKeyBytes = 64

// Scratch is working memory for [Windows]; its content is not kept between calls.
type Scratch struct {
	tracked, merged list
	counts          []int64
}

func (l *list) key(r *listRow) []byte { return l.bytes[r.at : r.at+uint32(r.size)] }

func (l *list) reset() {
	l.rows, l.bytes = l.rows[:0], l.bytes[:0]
	l.minCount, l.total = 0, 0
}

// add appends a row with a copy of its key.
func (l *list) add(r listRow, key []byte) {
	r.at, r.size = uint32(len(l.bytes)), uint16(len(key))
	l.rows = append(l.rows, r)
	l.bytes = append(l.bytes, key...)
}

// insertSorted moves the last row to its place in the order of hashes.
func (l *list) insertSorted() {
	for i := len(l.rows) - 1; i > 0 && l.rows[i-1].hash > l.rows[i].hash; i-- {
		l.rows[i-1], l.rows[i] = l.rows[i], l.rows[i-1]
	}
}

// merge sets l to the sum of two other lists. A key in only one of them was seen at most
// minCount times in the other.
func (l *list) merge(a, b *list) {
	l.reset()
	l.minCount, l.total = a.minCount+b.minCount, a.total+b.total
	x, y := a.rows, b.rows
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].hash < y[0].hash:
			l.add(x[0].plus(b.minCount, b.minCount), a.key(&x[0]))
			x = x[1:]
		case len(x) == 0 || y[0].hash < x[0].hash:
			l.add(y[0].plus(a.minCount, a.minCount), b.key(&y[0]))
			y = y[1:]
		default:
			l.add(x[0].plus(y[0].count, y[0].error), a.key(&x[0]))
			x, y = x[1:], y[1:]
		}
	}
}

func (r listRow) plus(count, error int64) listRow {
	r.count += count
	r.error += error
	return r
}

// cut sets dst to the rows of l with the highest counts, at most rows, and fewer if their
// keys are longer than avgKeyBytes on average. Their bytes are longestKey at least.
func (s *Scratch) cut(dst, l *list, rows, longestKey int) {
	dst.reset()
	dst.minCount, dst.total = l.minCount, l.total
	space := max(rows*avgKeyBytes, longestKey)
	cutoff, ties := int64(0), 0
	if len(l.rows) > rows || len(l.bytes) > space {
		var above, bytes int
		cutoff, above, bytes = s.cutoffFor(l, rows, space)
		dst.minCount, ties, space = max(dst.minCount, cutoff), rows-above, space-bytes
	}
	for i := range l.rows {
		r := &l.rows[i]
		if r.count == cutoff && ties > 0 && int(r.size) <= space {
			ties, space = ties-1, space-int(r.size)
			dst.add(*r, l.key(r))
		}
		if r.count > cutoff {
			dst.add(*r, l.key(r))
		}
	}
}

// cutoffFor returns the lowest count such that all rows above it fit, the number of these
// rows, and the bytes of their keys.
func (s *Scratch) cutoffFor(l *list, rows, space int) (cutoff int64, above, bytes int) {
	counts := s.sorted(l)
	for i := max(len(counts)-1-rows, 0); ; i++ {
		cutoff, above, bytes = counts[i], 0, 0
		for j := range l.rows {
			if r := &l.rows[j]; r.count > cutoff {
				above++
				bytes += int(r.size)
			}
		}
		if bytes <= space {
			return cutoff, above, bytes
		}
	}
}

// sorted returns the counts of a list in ascending order.
func (s *Scratch) sorted(l *list) []int64 {
	s.counts = s.counts[:0]
	for i := range l.rows {
		s.counts = append(s.counts, l.rows[i].count)
	}
	slices.Sort(s.counts)
	return s.counts
}
