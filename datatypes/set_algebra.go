package datatypes

import (
	"fmt"
	"math"
	"math/bits"

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
	n, wrong := g.gather(tx, keys)
	if wrong != "" {
		return fail(out, wrong)
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
	n, wrong := g.gather(tx, args[1:])
	switch {
	case wrong != "":
		return fail(out, wrong)
	case n > 0 && tx.Tight():
		return fail(out, errFull)
	case n > values.MaxCount:
		return fail(out, errMany)
	}
	e := vacate(tx, args[0])
	t, rest := tx.Set(e), tx.Scratch
	tx.AddWork(n * workToAdd)
	charge(tx, n*2*workToAdd+len(tx.Scratch)/copiedPerElement)
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
	count, wrong := g.gather(tx, args[1:1+n])
	if wrong != "" {
		return fail(out, wrong)
	}
	return answer.AppendInt(out, int64(count))
}

const (
	// workToProbe is the work of one look-up of a member in a set.
	workToProbe = 12
	// copiedPerElement is the number of bytes of a member that are hashed, compared and copied in
	// the time of a visit to an element.
	copiedPerElement = 16
	// maxProbes bounds the members that a command on sets visits, including look-ups in other
	// sets.
	maxProbes = 4 << 20
)

var errProbes = fmt.Sprintf("ERR a command on sets visits at most %d members, each look-up in another set included: "+
	"use fewer or smaller sets", maxProbes)

// A gathering collects the members of a combination.
type gathering struct {
	operation
	limit int64 // stop at this number of members; 0: no limit
	most  int   // stop when the members exceed this many bytes
}

// isFull reports whether the n members in Scratch are enough.
func (g *gathering) isFull(tx *engine.Tx, n int) bool {
	return int64(n) == g.limit || len(tx.Scratch) > g.most-n*valueBytes
}

// gather appends the members of the combination to Scratch, encoded as answers, and returns their
// number. wrong is an error if a key has a value of another type, or if maxProbes is exceeded.
//
// For an intersection or a difference these are the members of one set that all other sets contain
// or do not contain. For a union they are the members of all sets, each once.
func (g *gathering) gather(tx *engine.Tx, keys [][]byte) (n int, wrong string) {
	by := g.operation
	var few [8]values.Set
	sets := few[:0]
	for _, key := range keys {
		t, _, ok := findSet(tx, key)
		if !ok {
			return 0, errWrongType
		}
		sets = append(sets, t)
	}
	tx.Scratch = tx.Scratch[:0]
	switch by {
	case union:
		return g.unite(tx, sets)
	case intersection: // the smallest set first
		for i := range sets {
			if sets[i].Count < sets[0].Count {
				sets[0], sets[i] = sets[i], sets[0]
			}
		}
	}
	probes, others := 0, sets[1:]
	walk := sets[0].Walk()
	for member, more := walk.Next(); more; member, more = walk.Next() {
		from := len(tx.Scratch)
		at := appendMember(tx, member)
		looked, all := allContain(others, tx.Scratch[at:], by == intersection)
		if tx.Level() < 2 {
			tx.AddWork(1 + len(others))
		} else {
			tx.AddWork(1 + (1+looked)*(workToProbe+member.Len()/copiedPerElement))
			if probes += 1 + looked; probes > maxProbes {
				return 0, errProbes
			}
		}
		if !all {
			tx.Scratch = tx.Scratch[:from]
			continue
		}
		if n++; g.isFull(tx, n) {
			return n, ""
		}
	}
	return n, ""
}

// appendMember appends a member to Scratch, encoded as an answer. It returns the offset of the
// member's bytes.
func appendMember(tx *engine.Tx, member values.Element) (at int) {
	tx.Scratch = answer.AppendBulkHead(tx.Scratch, member.Len())
	at = len(tx.Scratch)
	tx.Scratch = member.Append(tx.Scratch)
	return at
}

// allContain reports whether Contains(member) == want for all sets, and how many sets it looked
// into. It stops at the first set that differs.
func allContain(sets []values.Set, member []byte, want bool) (looked int, all bool) {
	for i := range sets {
		if sets[i].Contains(member) != want {
			return i + 1, false
		}
	}
	return len(sets), true
}

// unite is gather for a union. It records the members in a hash table, so it does not look into all
// earlier sets for each member.
func (g *gathering) unite(tx *engine.Tx, sets []values.Set) (n int, wrong string) {
	most := 0
	for i := range sets {
		most += sets[i].Count
	}
	if tx.Level() >= 2 && most > maxProbes {
		return 0, errProbes
	}
	var seen memberTable
	if len(sets) > 1 {
		seen.begin(&sets[0], most)
	}
	for i := range sets {
		walk := sets[i].Walk()
		for member, more := walk.Next(); more; member, more = walk.Next() {
			if tx.Level() < 2 {
				tx.AddWork(1 + i)
			} else {
				tx.AddWork(1 + workToProbe + member.Len()/copiedPerElement)
			}
			from := len(tx.Scratch)
			at := appendMember(tx, member)
			if len(sets) > 1 && !seen.add(tx.Scratch, from, at) {
				tx.Scratch = tx.Scratch[:from]
				continue
			}
			if n++; g.isFull(tx, n) {
				return n, ""
			}
		}
	}
	return n, ""
}

// A memberTable is a hash table of members in Scratch. A slot holds the offset of the member's
// answer plus 1.
type memberTable struct {
	hash  func([]byte) uint64
	slots []int
}

// begin makes room for members. It uses the hash function of a set, which is keyed with a secret.
func (t *memberTable) begin(of *values.Set, members int) {
	t.hash = of.Hash
	t.slots = make([]int, 1<<bits.Len(uint(members*2)))
}

// add adds a member in memory. Its answer starts at offset from, its bytes at offset at. It reports
// whether the member is new.
func (t *memberTable) add(memory []byte, from, at int) bool {
	member, mask := memory[at:], len(t.slots)-1
	i := int(t.hash(member)) & mask
	for ; t.slots[i] != 0; i = (i + 1) & mask {
		if v, _, _ := answer.Next(memory[t.slots[i]-1:]); string(v.Bytes) == string(member) {
			return false
		}
	}
	t.slots[i] = from + 1
	return true
}
