package engine

import "slices"

// A replayList is the queue of a shard: rows of its ops, in order. Ops that differ only in
// their keys share a form.
type replayList struct {
	rows    replayRows
	ops     int        // number of rows
	latest  Instant    // the latest stamp
	forms   []Op       // without keys; their ids are in bytes
	ordered []rowPlace // the ops that do not keep to their pages
	calls   []Call
	args    [][]byte // of the calls, in bytes
	bytes   []byte
	answer  []byte // memory for any call
	tx      Tx
}

const (
	// formBytes is the memory of a form.
	formBytes = 112
	// recentForms is the number of forms that are compared with the form of a new op.
	recentForms = 4
	// sortFrom is the least number of ops that are worth sorting by page.
	sortFrom = 512
)

// keepsToPage reports whether the op, without a group, reads and changes nothing but the page
// of its key, and numbers, as the counts of keys, that are the same after other ops in any
// order. Ops on tails do not: a tail's state has the number of the shard's last change.
func (op *Op) keepsToPage() bool {
	switch op.Kind {
	case Take:
		a := op.Params.alg()
		return op.Mode == 0 && a.tail == nil && a.limiter != nil
	case Peek, Forget:
		return true
	}
	return false
}

// add adds a copy of an op, and returns the memory that it takes, in bytes. share is the memory
// of a list when the queue is full.
func (l *replayList) add(now Instant, op *Op, h uint64, share int) (bytes int) {
	at := len(l.rows)
	if at+rowHeadBytes+len(op.Key) > cap(l.rows) {
		l.grow(rowHeadBytes+len(op.Key), share)
	}
	if !op.keepsToPage() {
		l.ordered = append(l.ordered, rowPlace{l.ops, at})
	}
	form, bytes := l.formOf(op)
	l.latest = max(l.latest, min(now, latest))
	l.rows = l.rows.add(h, l.latest, form, op.Key)
	l.ops++
	return bytes + len(l.rows) - at
}

// grow makes space for a row and more: soon for as many as a list has when the queue is full.
// Memory that is not written to costs nothing, but the old memory is garbage.
func (l *replayList) grow(row, share int) {
	more := sortFrom * row
	if l.ops > 0 {
		more = max(row, len(l.rows)/4, share/8*9-len(l.rows))
	}
	l.rows = slices.Grow(l.rows, more)
}

// formOf returns the index of the form of an op, and the growth of forms in bytes.
func (l *replayList) formOf(op *Op) (form uint32, bytes int) {
	if op.Kind != Do && len(op.ID) == 0 {
		for i := len(l.forms) - 1; i >= 0 && i >= len(l.forms)-recentForms; i-- {
			if l.forms[i].hasForm(op) {
				return uint32(i), 0
			}
		}
	}
	l.forms = append(l.forms, *op)
	kept := &l.forms[len(l.forms)-1]
	kept.Key, kept.ID = nil, l.copyBytes(op.ID)
	return uint32(len(l.forms) - 1), formBytes + len(op.ID)
}

// hasForm reports whether an op without an id differs only in its key.
func (op *Op) hasForm(other *Op) bool {
	return op.Kind == other.Kind && op.N == other.N && op.Params == other.Params && op.DB == other.DB &&
		op.Mode == other.Mode && op.Group == other.Group && len(op.ID) == 0
}

// addCall adds the call of the op added last, and returns the memory that it takes, in bytes.
func (l *replayList) addCall(c *Call) (bytes int) {
	from := len(l.args)
	for _, arg := range c.Args {
		l.args = append(l.args, l.copyBytes(arg))
		bytes += len(arg)
	}
	l.forms[len(l.forms)-1].N = int64(len(l.calls))
	l.calls = append(l.calls, Call{
		Command: c.Command, ReadOnly: c.ReadOnly, Timed: c.Timed, Draws: c.Draws, Micros: c.Micros,
		Args: l.args[from:len(l.args):len(l.args)],
	})
	return bytes + formBytes
}

// copyBytes returns a copy in bytes. If bytes is reallocated, older copies stay valid.
func (l *replayList) copyBytes(b []byte) []byte {
	from := len(l.bytes)
	l.bytes = append(l.bytes, b...)
	return l.bytes[from:len(l.bytes):len(l.bytes)]
}

// op returns the op of the row at an offset with its key, valid until the next call for the same
// form.
func (l *replayList) op(at uint32) *Op {
	op := &l.forms[l.rows.form(at)]
	op.Key = l.rows.key(at)
	return op
}

// apply applies the list to its shard and empties it. Long runs of ops that keep to their pages
// are applied page by page, all other ops in order.
func (l *replayList) apply(e *Engine, s *shard, sorting *replaySorting, of replayed) {
	l.rows.delay(s.now)
	s.full = of.full
	var done, free rowPlace
	for i := 0; i <= len(l.ordered) && e.memory.most.Load() == 0; i++ {
		to := rowPlace{l.ops, len(l.rows)}
		if i < len(l.ordered) {
			to = l.ordered[i]
		}
		if to.index-free.index >= sortFrom {
			l.applyInOrder(e, s, of, done.at, free.at)
			l.applyByPage(s, sorting, free, to)
			done = to
		}
		if i < len(l.ordered) {
			free = rowPlace{to.index + 1, l.rows.after(to.at)}
		}
	}
	l.applyInOrder(e, s, of, done.at, len(l.rows))
	l.empty()
}

// empty removes all ops, and keeps the memory.
func (l *replayList) empty() {
	clear(l.forms)
	clear(l.calls)
	clear(l.args)
	l.rows, l.ops, l.latest = l.rows[:0], 0, 0
	l.forms, l.ordered, l.calls, l.args, l.bytes = l.forms[:0], l.ordered[:0], l.calls[:0], l.args[:0], l.bytes[:0]
}

// identity is the identity permutation.
var identity = func() (order [prefetchOps]int32) {
	for i := range order {
		order[i] = int32(i)
	}
	return order
}()

// applyInOrder applies the ops of the rows from offset from to end.
func (l *replayList) applyInOrder(e *Engine, s *shard, of replayed, from, end int) {
	var (
		d      Decision
		hashes [prefetchOps]uint64
	)
	for from < end {
		n, to := 0, from
		for ; n < len(hashes) && to < end; n++ {
			hashes[n] = l.rows.hash(uint32(to))
			to = l.rows.after(to)
		}
		s.lock(0)
		s.prefetch(hashes[:n], identity[:n])
		for i := 0; from < to; i++ {
			s.now = l.rows.stamp(uint32(from))
			op := l.op(uint32(from))
			if op.Kind == Do {
				l.call(e, s, of, op)
			} else {
				s.apply(s.now, op, hashes[i], &d)
			}
			from = l.rows.after(from)
		}
		s.unlock()
	}
}

// call runs a Do.
func (l *replayList) call(e *Engine, s *shard, of replayed, op *Op) {
	l.tx.begin(e, s.now, op)
	l.tx.only, l.tx.level, l.tx.tight = s, of.level, of.tight
	c := &l.calls[op.call()]
	c.Answer = l.answer
	l.tx.run(c)
	l.answer, c.Answer = c.Answer, nil
}

// A taken tells how a Take was decided.
type taken uint8

const (
	notTaken taken = iota // not decided, or not a Take
	allowed
	denied
)

// takenBy returns how an op was decided by d.
func takenBy(op *Op, d *Decision) taken {
	switch {
	case op.Kind != Take || op.N == 0 || d.Status != OK:
		return notTaken
	case d.Allowed == 0:
		return denied
	}
	return allowed
}

// applyByPage applies the ops from a place to another, which keep to their pages: those on one
// page in order, so that the page goes through the same states as in an applyInOrder, and the
// pages in the order of the table, which reads memory almost sequentially. The keys are counted
// afterwards, in order: the counters depend on it.
func (l *replayList) applyByPage(s *shard, sorting *replaySorting, from, to rowPlace) {
	var (
		d      Decision
		hashes [prefetchOps]uint64
		order  = sorting.sort(s, l.rows, from, to)
	)
	for s.countsLater = true; len(order) > 0; {
		next := order[:min(len(order), prefetchOps)]
		order = order[len(next):]
		for i, at := range next {
			hashes[i] = l.rows.hash(at)
		}
		s.lock(0)
		s.prefetch(hashes[:], identity[:len(next)])
		for i, at := range next {
			op := l.op(at)
			s.apply(l.rows.stamp(at), op, hashes[i], &d)
			l.rows.setTaken(at, takenBy(op, &d))
		}
		s.unlock()
	}
	s.countsLater = false
	now := s.now
	for at := from.at; at < to.at; at = l.rows.after(at) {
		row := uint32(at)
		now = l.rows.stamp(row)
		if t := l.rows.taken(row); t != notTaken {
			s.countKey(now, l.op(row), l.rows.hash(row), t == denied)
		}
	}
	s.lock(now)
	s.unlock()
}
