package datatypes

import (
	"math"

	"limitsrv/answer"
	"limitsrv/engine"
	"limitsrv/values"
	"limitsrv/values/numbers"
)

// An operation combines sets.
type operation uint8

const (
	intersection operation = iota
	union
	difference
)

func sInter(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return combine(tx, intersection, args, out)
}

func sUnion(tx *engine.Tx, args [][]byte, out []byte) []byte { return combine(tx, union, args, out) }

func sDiff(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return combine(tx, difference, args, out)
}

func sInterStore(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return storeCombined(tx, intersection, args, out)
}

func sUnionStore(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return storeCombined(tx, union, args, out)
}

func sDiffStore(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return storeCombined(tx, difference, args, out)
}

// combine answers the combination of the sets of keys.
func combine(tx *engine.Tx, by operation, keys [][]byte, out []byte) []byte {
	g := gathering{operation: by, most: tx.AnswerRoom()}
	n, ok := g.gather(tx, keys)
	if !ok {
		return fail(out, errWrongType)
	}
	most := limitFor(tx, out, n, 0)
	if !most.fits(out, len(tx.Scratch)) {
		return most.tooLong(out, len(tx.Scratch))
	}
	return most.done(append(answer.AppendSet(out, n), tx.Scratch...))
}

// workToAdd is the work of adding an element to a new collection.
const workToAdd = 4

// storeCombined stores the combination of the sets of the keys after the first under the
// first, and answers the number of members.
func storeCombined(tx *engine.Tx, by operation, args [][]byte, out []byte) []byte {
	g := gathering{operation: by, most: math.MaxInt}
	n, ok := g.gather(tx, args[1:])
	switch {
	case !ok:
		return fail(out, errWrongType)
	case n > 0 && tx.Tight():
		return fail(out, errFull)
	case n > values.MaxCount:
		return fail(out, errMany)
	}
	e := vacate(tx, args[0])
	t, rest := tx.Set(e), tx.Scratch
	tx.AddWork(n * workToAdd)
	for range n {
		var member answer.Value
		member, rest, _ = answer.Next(rest)
		t.Add(member.Bytes)
	}
	if n > 0 {
		tx.Keep(e, engine.Set, t.Head)
	}
	return answer.AppendInt(out, int64(n))
}

// sInterCard answers the size of an intersection, or the limit if that is less.
func sInterCard(tx *engine.Tx, args [][]byte, out []byte) []byte {
	n, ok := numbers.ParseInt(args[0])
	switch {
	case !ok || n < 1:
		return fail(out, "ERR numkeys should be greater than 0")
	case n > int64(len(args)-1):
		return fail(out, "ERR Number of keys can't be greater than number of args")
	}
	limit := int64(0)
	for options := args[1+n:]; len(options) > 0; options = options[2:] {
		if len(options) < 2 || !isWord(options[0], "LIMIT") {
			return fail(out, errSyntax)
		}
		if limit, ok = numbers.ParseInt(options[1]); !ok || limit < 0 {
			return fail(out, "ERR LIMIT can't be negative")
		}
	}
	g := gathering{operation: intersection, limit: limit, most: math.MaxInt}
	count, ok := g.gather(tx, args[1:1+n])
	if !ok {
		return fail(out, errWrongType)
	}
	return answer.AppendInt(out, int64(count))
}

// A gathering collects the members of a combination.
type gathering struct {
	operation
	limit int64 // the number of members to stop at; 0: all
	most  int   // stop beyond so many bytes of members
}

// gather leaves the members of a combination in Scratch, as answers, and returns their
// number. ok is false if a key has another value.
//
// A member that counts is one of a first set that the others have or have not; of a union,
// one of any set that none before has.
func (g *gathering) gather(tx *engine.Tx, keys [][]byte) (n int, ok bool) {
	by := g.operation
	var few [8]values.Set
	sets := few[:0]
	for _, key := range keys {
		t, _, ok := findSet(tx, key)
		if !ok {
			return 0, false
		}
		sets = append(sets, t)
	}
	first, last := 0, 0
	switch by {
	case union:
		last = len(sets) - 1
	case intersection: // the smallest set first
		for i := range sets {
			if sets[i].Count < sets[0].Count {
				sets[0], sets[i] = sets[i], sets[0]
			}
		}
	}
	tx.Scratch = tx.Scratch[:0]
	for ; first <= last; first++ {
		others := sets[1:]
		if by == union {
			others = sets[:first]
		}
		walk := sets[first].Walk()
		for member, more := walk.Next(); more; member, more = walk.Next() {
			tx.AddWork(1 + len(others))
			from := len(tx.Scratch)
			tx.Scratch = answer.AppendBulkHead(tx.Scratch, member.Len())
			at := len(tx.Scratch)
			tx.Scratch = member.Append(tx.Scratch)
			if !allContain(others, tx.Scratch[at:], by == intersection) {
				tx.Scratch = tx.Scratch[:from]
				continue
			}
			if n++; int64(n) == g.limit || len(tx.Scratch) > g.most-n*valueBytes {
				return n, true
			}
		}
	}
	return n, true
}

// allContain reports whether all sets contain a member, or, with want false, none does.
func allContain(sets []values.Set, member []byte, want bool) bool {
	for i := range sets {
		if sets[i].Contains(member) != want {
			return false
		}
	}
	return true
}
