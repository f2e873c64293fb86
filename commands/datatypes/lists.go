package datatypes

import (
	"math"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
	"limitsrv/engine/values/numbers"
)

// findList finds the list of a key, which may be empty. ok is false if the key has another
// value.
func findList(tx *engine.Tx, key []byte) (l values.List, e engine.Entry, ok bool) {
	if e, ok = findRow(tx, key, engine.List); ok {
		l = tx.List(e)
	}
	return l, e, ok
}

// seekPerElement is the number of elements that a seek in a list passes in the time of a visit
// to an element.
const seekPerElement = 64

// index returns the place of an index that counts from the end if it is negative. ok is
// false if there is no such entry.
func index(tx *engine.Tx, l *values.List, i int64) (at int, ok bool) {
	if i < 0 {
		i += int64(l.Count)
	}
	if nearest := min(i, int64(l.Count)-i); nearest > 0 {
		tx.AddWork(int(nearest / seekPerElement))
		charge(tx, 3*int(nearest/seekPerElement))
	}
	return int(i), i >= 0 && i < int64(l.Count)
}

func lLen(tx *engine.Tx, args [][]byte, out []byte) []byte {
	l, _, ok := findList(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	return answer.AppendInt(out, int64(l.Count))
}

func lIndex(tx *engine.Tx, args [][]byte, out []byte) []byte {
	l, _, ok := findList(tx, args[0])
	switch {
	case !ok:
		return fail(out, errWrongType)
	case l.Count == 0:
		return answer.AppendNil(out)
	}
	i, ok := numbers.ParseInt(args[1])
	if !ok {
		return fail(out, errNotInt)
	}
	if at, ok := index(tx, &l, i); ok {
		return appendOne(tx, out, l.At(at))
	}
	return answer.AppendNil(out)
}

func lRange(tx *engine.Tx, args [][]byte, out []byte) []byte {
	start, ok := numbers.ParseInt(args[1])
	end, ok2 := numbers.ParseInt(args[2])
	if !ok || !ok2 {
		return fail(out, errNotInt)
	}
	l, _, ok := findList(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	from, n := slice(start, end, l.Count)
	tx.AddWork(min(from, l.Count-from) / seekPerElement)
	most := limitFor(tx, out, n, 0)
	out = answer.AppendArray(out, n)
	if n == 0 {
		return out
	}
	charge(tx, n+2*min(from, l.Count-from)/seekPerElement)
	walk := l.Walk(from)
	for range n {
		entry, _ := walk.Next()
		if !most.fits(out, entry.Len()) {
			return most.tooLong(out, entry.Len())
		}
		out = appendElement(out, entry)
	}
	return most.done(out)
}

// posOptions are the options of LPOS.
type posOptions struct {
	rank   int64 // of the first match that counts, from the end if it is negative
	many   bool  // with COUNT
	count  int64 // 0: all
	maxLen int64 // number of entries to compare, 0: all
}

func parsePos(args [][]byte) (o posOptions, wrong string) {
	o.rank, o.count = 1, 1
	for ; len(args) > 0; args = args[2:] {
		if len(args) < 2 {
			return o, errSyntax
		}
		n, ok := numbers.ParseInt(args[1])
		switch word := args[0]; {
		case isWord(word, "RANK"):
			switch {
			case !ok:
				return o, errNotInt
			case n == math.MinInt64:
				return o, errCountRange
			case n == 0:
				return o, "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to " +
					"start from the end of the list"
			}
			o.rank = n
		case isWord(word, "COUNT"):
			if !ok || n < 0 {
				return o, "ERR COUNT can't be negative"
			}
			o.many, o.count = true, n
		case isWord(word, "MAXLEN"):
			if !ok || n < 0 {
				return o, "ERR MAXLEN can't be negative"
			}
			o.maxLen = n
		default:
			return o, errSyntax
		}
	}
	return o, ""
}

func lPos(tx *engine.Tx, args [][]byte, out []byte) []byte {
	o, wrong := parsePos(args[2:])
	if wrong != "" {
		return fail(out, wrong)
	}
	l, _, ok := findList(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	found, n := tx.Scratch[:0], 0
	if l.Count > 0 {
		found, n = o.find(tx, &l, args[1], found)
	}
	tx.Scratch = found
	switch {
	case o.many:
		most := limitFor(tx, out, n, 0)
		if !most.fits(out, len(found)) {
			return most.tooLong(out, len(found))
		}
		return most.done(append(answer.AppendArray(out, n), found...))
	case n == 0:
		return answer.AppendNil(out)
	}
	return append(out, found...)
}

// find appends the indexes of matches as answers, and returns their number.
func (o *posOptions) find(tx *engine.Tx, l *values.List, b, dst []byte) (found []byte, n int) {
	walk, at, by := l.Walk(0), 0, 1
	left := o.rank
	if o.rank < 0 {
		walk, at, by = l.WalkBack(l.Count-1), l.Count-1, -1
		left = -o.rank
	}
	for seen := int64(1); ; seen++ {
		tx.AddWork(1)
		entry, more := walk.Next()
		if !more || o.maxLen > 0 && seen > o.maxLen {
			return dst, n
		}
		if chargeLength(tx, entry, b); entry.Equal(b) {
			if left--; left <= 0 {
				dst = answer.AppendInt(dst, int64(at))
				if n++; int64(n) == o.count {
					return dst, n
				}
			}
		}
		at += by
	}
}
