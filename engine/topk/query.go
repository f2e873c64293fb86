package topk

import (
	"bytes"
	"cmp"
	"slices"
)

// A Row is a key that was counted at most Count and at least Count - Error times.
type Row struct {
	Key   []byte
	Count int64
	Error int64
	Tag   uint8
}

// A Result lists the keys with the highest counts. The rows are sorted by Count, highest
// first, then by Key and Tag.
type Result struct {
	Rows []Row
	// Total is the sum of the counts of all keys.
	Total int64
	// Others is an upper bound on the count of every key not in Rows.
	Others int64
}

// A Query adds up the counts of several Windows, which must have counted different keys.
type Query struct {
	window Window
	first  int64 // the number of the first interval or block
	rows   int
	all    list // of the Windows read last
	sum    list
	result Result
}

// NewQuery returns a [Query] for so many rows, over the window that ends at now. from is
// the start of the window.
func NewQuery(window Window, now int64, rows int) (q *Query, from int64) {
	length, intervals := int64(intervalNanos), int64(minuteIntervals)
	if window == Hour {
		length, intervals = blockIntervals*intervalNanos, hourBlocks
	}
	q = &Query{window: window, first: max(now/length-intervals, 0), rows: rows}
	return q, q.first * length
}

// Read copies the counts of p in the window. Merge must follow.
func (q *Query) Read(p *Windows, scratch *Scratch) {
	q.all.reset()
	p.each(q.window, q.first, scratch, func(l *list) {
		q.sum.merge(&q.all, l)
		q.all, q.sum = q.sum, q.all
	})
}

// Merge adds the counts of the last Read to the result. It does not use the [Windows], so
// that their lock need not be held.
func (q *Query) Merge() {
	t, l := &q.result, &q.all
	least := int64(0)
	if len(t.Rows) == q.rows {
		least = t.Rows[q.rows-1].Count
	}
	for i := range l.rows {
		r := &l.rows[i]
		if r.count < least {
			t.Others = max(t.Others, r.count)
			continue
		}
		t.Rows = append(t.Rows, Row{bytes.Clone(l.key(r)), r.count, r.error, r.tag})
	}
	slices.SortFunc(t.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), bytes.Compare(a.Key, b.Key), cmp.Compare(a.Tag, b.Tag))
	})
	t.Total += l.total
	t.Others = max(t.Others, l.minCount)
	if len(t.Rows) > q.rows {
		t.Others = max(t.Others, t.Rows[q.rows].Count)
		t.Rows = t.Rows[:q.rows]
	}
}

// Result returns the sum of all Windows that were read and merged.
func (q *Query) Result() Result { return q.result }
