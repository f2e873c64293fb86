package engine

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A replayList is the queue of a shard: columns of its ops, in order. Ops that differ only in
// their keys share a form.
type replayList struct {
	hashes  []uint64
	stamps  []Instant
	places  []replayPlace
	keys    []byte  // each behind its length, an unsigned varint
	forms   []Op    // without keys; their ids are in bytes
	ordered []int32 // indexes of the ops that do not keep to their pages
	calls   []Call
	args    [][]byte // of the calls, in bytes
	bytes   []byte
	answer  []byte // memory for any call
	tx      Tx
}

// A replayPlace locates an op's key in keys and its form in forms.
type replayPlace struct{ key, form uint32 }

const (
	// opBytes is the memory of an op besides its key with its length, and its form; formBytes
	// is that of a form.
	opBytes   = 24
	formBytes = 112
	// recentForms is the number of forms that are compared with that of a new op.
	recentForms = 4
	// sortFrom is the number of ops from which sorting them by page is worth its cost.
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
	if len(l.hashes) == cap(l.hashes) {
		l.grow(share)
	}
	if !op.keepsToPage() {
		l.ordered = append(l.ordered, int32(len(l.hashes)))
	}
	form, bytes := l.formOf(op)
	at := len(l.keys)
	l.hashes, l.stamps = append(l.hashes, h), append(l.stamps, now)
	l.places = append(l.places, replayPlace{uint32(at), form})
	l.keys = append(binary.AppendUvarint(l.keys, uint64(len(op.Key))), op.Key...)
	return bytes + opBytes + len(l.keys) - at
}

// grow makes space for more ops: soon for as many as a list has when the queue is full, if its
// ops are like those before. Memory that is not written to costs nothing, but that left behind is
// garbage.
func (l *replayList) grow(share int) {
	n := len(l.hashes)
	more := sortFrom
	if n > 0 {
		each := opBytes + (len(l.keys)+n-1)/n
		more = max(n/4, share/each*9/8-n)
		l.keys = slices.Grow(l.keys, more*(each-opBytes))
	}
	l.hashes, l.stamps, l.places = slices.Grow(l.hashes, more), slices.Grow(l.stamps, more), slices.Grow(l.places, more)
}

// formOf returns the index of the form of an op, and the bytes by which it lets forms grow.
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
	l.calls = append(l.calls, Call{Command: c.Command, ReadOnly: c.ReadOnly, Timed: c.Timed, Micros: c.Micros, Args: l.args[from:len(l.args):len(l.args)]})
	return bytes + formBytes
}

// copyBytes returns a copy in bytes. If bytes is reallocated, older copies stay valid.
func (l *replayList) copyBytes(b []byte) []byte {
	from := len(l.bytes)
	l.bytes = append(l.bytes, b...)
	return l.bytes[from:len(l.bytes):len(l.bytes)]
}

// key returns the key of op i.
func (l *replayList) key(i int) []byte {
	keys := l.keys[l.places[i].key:]
	n, size := binary.Uvarint(keys)
	return keys[size : size+int(n) : size+int(n)]
}

// op returns op i with its key, valid until the next call for the same form.
func (l *replayList) op(i int) *Op {
	op := &l.forms[l.places[i].form]
	op.Key = l.key(i)
	return op
}

// prefetch reads the keys of the ops with some indexes behind from. It returns some value, so
// that the caller can use it and the reads take place.
func (l *replayList) prefetch(from int, order []int32) (sum uint64) {
	for _, i := range order {
		at := l.places[from+int(i)].key
		sum += uint64(l.stamps[from+int(i)]) + uint64(l.keys[at])
	}
	return sum
}

// apply applies the list to its shard and empties it. Long runs of ops that keep to their pages
// are applied page by page, all others in order.
func (l *replayList) apply(e *Engine, s *shard, sorting *replaySorting, of replayed) {
	for now, i := s.now, 0; i < len(l.stamps); i++ {
		now = max(now, min(l.stamps[i], latest))
		l.stamps[i] = now
	}
	s.full = of.full
	done, free := 0, 0
	for i := 0; i <= len(l.ordered) && e.memory.max.Load() == 0; i++ {
		to := len(l.hashes)
		if i < len(l.ordered) {
			to = int(l.ordered[i])
		}
		if to-free >= sortFrom {
			l.applyInOrder(e, s, of, done, free)
			l.applyByPage(s, sorting, free, to)
			done = to
		}
		free = to + 1
	}
	l.applyInOrder(e, s, of, done, len(l.hashes))
	l.empty()
}

// empty removes all ops, and keeps the memory.
func (l *replayList) empty() {
	clear(l.forms)
	clear(l.calls)
	clear(l.args)
	l.hashes, l.stamps, l.places, l.keys = l.hashes[:0], l.stamps[:0], l.places[:0], l.keys[:0]
	l.forms, l.ordered, l.calls, l.args, l.bytes = l.forms[:0], l.ordered[:0], l.calls[:0], l.args[:0], l.bytes[:0]
}

// identity is the identity permutation.
var identity = func() (order [prefetchOps]int32) {
	for i := range order {
		order[i] = int32(i)
	}
	return order
}()

// applyInOrder applies the ops from..end-1.
func (l *replayList) applyInOrder(e *Engine, s *shard, of replayed, from, end int) {
	var d Decision
	for ; from < end; from += prefetchOps {
		to := min(from+prefetchOps, end)
		s.lock(0)
		s.prefetch(l.hashes[from:], identity[:to-from])
		for i := from; i < to; i++ {
			s.now = l.stamps[i]
			op := l.op(i)
			if op.Kind != Do {
				s.apply(s.now, op, l.hashes[i], &d)
				continue
			}
			l.tx.begin(e, s.now, op)
			l.tx.only, l.tx.level, l.tx.tight = s, of.level, of.tight
			c := &l.calls[op.N]
			c.Answer = l.answer
			l.tx.run(c)
			l.answer, c.Answer = c.Answer, nil
		}
		s.evicted = s.evicted[:0]
		s.unlock()
	}
}

// A replaySorting is the working memory to sort the ops of a shard.
type replaySorting struct {
	firsts []uint32 // of firstEntries
	pages  []uint32 // of each op, the first bits of the hashes of its page
	order  []int32
	next   []int32 // for each value of these bits, the index in order of the next op
	taken  []taken
}

// A taken tells how a Take was decided.
type taken uint8

const (
	notTaken taken = iota // not decided, or not a Take
	allowed
	denied
)

// applyByPage applies the ops from..to-1, which keep to their pages: those on one page in
// order, so that the page goes through the same states as in an applyInOrder, and the pages in
// the order of the table, which reads memory almost sequentially. The keys are counted
// afterwards, in order: the counters depend on it.
func (l *replayList) applyByPage(s *shard, sorting *replaySorting, from, to int) {
	var (
		d      Decision
		hashes = l.hashes[from:to]
		order  = sorting.sort(s, hashes)
		taken  = sorting.taken
	)
	for s.countsLater = true; len(order) > 0; {
		next := order[:min(len(order), prefetchOps)]
		order = order[len(next):]
		s.lock(0)
		s.prefetched = l.prefetch(from, next)
		s.prefetch(hashes, next)
		for _, i := range next {
			op := l.op(from + int(i))
			s.apply(l.stamps[from+int(i)], op, hashes[i], &d)
			switch {
			case op.Kind != Take || op.N == 0 || d.Status != OK:
				taken[i] = notTaken
			case d.Allowed == 0:
				taken[i] = denied
			default:
				taken[i] = allowed
			}
		}
		s.unlock()
	}
	s.countsLater = false
	for i, t := range taken {
		if t != notTaken {
			s.countKey(l.stamps[from+i], l.op(from+i), hashes[i], t == denied)
		}
	}
	s.lock(l.stamps[to-1])
	s.unlock()
}

// sort returns the indexes of hashes sorted by the pages that they have now, all of one page in
// their order, and makes space for their decisions. It is a counting sort by the first bits of
// the hashes on a page: a page that is split later has the hashes of one that was.
func (o *replaySorting) sort(s *shard, hashes []uint64) []int32 {
	n := len(hashes)
	width := min(uint8(bits.Len(uint(n))), s.dirDepth)
	o.pages, o.order, o.taken = slices.Grow(o.pages[:0], n)[:n], slices.Grow(o.order[:0], n)[:n], slices.Grow(o.taken[:0], n)[:n]
	o.next = slices.Grow(o.next[:0], 1<<width+1)[:1<<width+1]
	o.firsts = s.firstEntries(o.firsts, width)
	clear(o.next)
	for i, h := range hashes {
		first := o.firsts[h>>(64-width)]
		o.pages[i] = first
		o.next[first+1]++
	}
	for i := 1; i < len(o.next); i++ {
		o.next[i] += o.next[i-1]
	}
	for i, first := range o.pages {
		o.order[o.next[first]] = int32(i)
		o.next[first]++
	}
	return o.order
}

// firstEntries returns, for each value of the first width bits of a hash, the first value with the
// same page. It uses the memory of firsts. Requires: width is at most that of the dir. It reads
// the dir in order, and no heads of pages, which are spread over memory.
func (t *table) firstEntries(firsts []uint32, width uint8) []uint32 {
	n := 1 << width
	firsts = slices.Grow(firsts[:0], n)[:n]
	step, first := t.dirDepth-width, 0
	for i := range n {
		if t.dir[i<<step] != t.dir[first<<step] {
			first = i
		}
		firsts[i] = uint32(first)
	}
	return firsts
}
