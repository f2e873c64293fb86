package datatypes

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
	"limitsrv/engine/values/numbers"
)

// An operation combines sets.
type operation uint8

const (
	intersection operation = iota
	union
	difference
)

// combine answers the combination of the sets of keys.
func combine(tx *engine.Tx, keys [][]byte, by operation, out []byte) []byte {
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
func storeCombined(tx *engine.Tx, args [][]byte, by operation, out []byte) []byte {
	g := gathering{operation: by, most: math.MaxInt}
	n, wrong := g.gather(tx, args[1:])
	switch {
	case wrong != "":
		return fail(out, wrong)
	case tx.Level() >= 2 && g.probes+n > maxProbes:
		return fail(out, errProbes)
	case n > 0 && tx.Tight():
		return fail(out, errFull)
	case n > values.MaxCount:
		return fail(out, errMany)
	}
	e := vacate(tx, args[0])
	t := tx.Set(e)
	tx.AddWork(n * workToAdd)
	charge(tx, n*2*workToAdd+len(tx.Scratch)/copiedPerElement)
	if n >= values.MinFilled {
		t.Fill(tx.Scratch, g.found)
	} else {
		for _, m := range g.found {
			t.Add(tx.Scratch[m.At : m.At+m.Len])
		}
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
	// sets. A member that is stored counts twice, and bytesPerProbe bytes of a member count as
	// another member. The command then takes some 100 ms.
	maxProbes     = 1 << 20
	bytesPerProbe = 64
)

var errProbes = fmt.Sprintf("ERR a command on sets visits at most %d members, each look-up in another set included; "+
	"a member that is stored, and %d bytes of a member, count as one more: use fewer or smaller sets", maxProbes,
	bytesPerProbe)

// A gathering collects the members of a combination.
type gathering struct {
	operation
	limit  int64 // stop at this number of members; 0: no limit
	most   int   // stop when the members exceed this many bytes
	probes int   // so far
	found  []values.Hashed
}

// isFull reports whether the members in Scratch are enough.
func (g *gathering) isFull(tx *engine.Tx) bool {
	n := len(g.found)
	return int64(n) == g.limit || len(tx.Scratch) > g.most-n*valueBytes
}

// probe counts n visits or look-ups, and charges their work and the work of so many bytes. It
// returns false if they are too many. Calls of level 1 pay otherwise, and have no bound.
func (g *gathering) probe(tx *engine.Tx, n, bytes int) bool {
	if tx.Level() < 2 {
		return true
	}
	tx.AddWork(n*(1+workToProbe) + bytes/copiedPerElement)
	g.probes += n + bytes/bytesPerProbe
	return g.probes <= maxProbes
}

// gather appends the members of the combination to Scratch, encoded as answers, and returns their
// number. wrong is an error if a key has a value of another type, or if maxProbes is exceeded.
//
// For an intersection or a difference these are the members of a set that all other sets contain
// or do not contain. For a union they are the members of all sets, each once.
func (g *gathering) gather(tx *engine.Tx, keys [][]byte) (n int, wrong string) {
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
	ok := true
	switch g.operation {
	case union:
		ok = g.unite(tx, sets)
	case intersection:
		slices.SortStableFunc(sets, func(a, b values.Set) int { return cmp.Compare(a.Count, b.Count) })
		fallthrough
	default:
		ok = g.selectFrom(tx, sets[0], sets[1:])
	}
	if !ok {
		return 0, errProbes
	}
	return len(g.found), ""
}

// append appends a member to Scratch, encoded as an answer.
func (g *gathering) append(tx *engine.Tx, m *values.HashedElement) {
	tx.Scratch = answer.AppendBulkHead(values.Grow(tx.Scratch, m.Len()+valueBytes), m.Len())
	at := len(tx.Scratch)
	tx.Scratch = m.Append(tx.Scratch)
	if len(g.found) == cap(g.found) {
		g.found = slices.Grow(g.found, max(64, len(g.found)))
	}
	g.found = append(g.found, values.Hashed{Hash: m.Hash, At: at, Len: m.Len()})
}

// selectedAtOnce is the number of members of the first set that are looked up in all other sets
// before the next members are.
const selectedAtOnce = 1 << 10

// selectFrom gathers the members of the first set that all other sets contain, or for a
// difference do not contain. ok is false if maxProbes is exceeded.
func (g *gathering) selectFrom(tx *engine.Tx, first values.Set, others []values.Set) (ok bool) {
	ordered := first.IsOrdered()
	all := make([]values.HashedElement, min(first.Count, selectedAtOnce))
	walk := first.Walk()
	for left := first.Count; left > 0; left -= len(all) {
		all = all[:min(left, selectedAtOnce)]
		bytes := 0
		for i := range all {
			all[i], _ = walk.NextHashed()
			all[i].Place = i
			bytes += all[i].Len() / bytesPerProbe * bytesPerProbe
		}
		if !g.probe(tx, len(all), bytes) {
			return false
		}
		kept := all
		for i := 0; i < len(others) && len(kept) > 0; i++ {
			if !g.probe(tx, others[i].Looks(kept, ordered), 0) {
				return false
			}
			kept = others[i].Select(kept, ordered, g.operation == intersection)
		}
		if g.take(tx, len(all), kept, 1+len(others)) {
			return true
		}
	}
	return true
}

// take appends the members that are left of so many, and reports whether that is enough. At level
// 1, each of the members has the given work.
func (g *gathering) take(tx *engine.Tx, members int, kept []values.HashedElement, work int) (full bool) {
	for i := range kept {
		g.append(tx, &kept[i])
		if full = g.isFull(tx); full {
			members = kept[i].Place + 1
			break
		}
	}
	if tx.Level() < 2 {
		tx.AddWork(members * work)
	}
	return full
}

// unite gathers the members of all sets, each once. ok is false if maxProbes would be exceeded. It
// records the members in a hash table, so it does not look into all earlier sets for each member.
func (g *gathering) unite(tx *engine.Tx, sets []values.Set) (ok bool) {
	all := 0
	for i := range sets {
		all += sets[i].Count
	}
	if tx.Level() >= 2 && all > maxProbes {
		return false
	}
	var seen memberTable
	for i := range sets {
		if len(sets) > 1 {
			seen.reserve(g.found, sets[i].Count)
		}
		walk := sets[i].Walk()
		for m, more := walk.NextHashed(); more; m, more = walk.NextHashed() {
			if tx.Level() < 2 {
				tx.AddWork(1 + i)
			}
			if !g.probe(tx, 1, m.Len()) {
				return false
			}
			if len(sets) > 1 && !seen.add(tx.Scratch, g.found, &m) {
				continue
			}
			if g.append(tx, &m); g.isFull(tx) {
				return true
			}
		}
	}
	return true
}

// A memberTable is a hash table of the members that a gathering has found. A slot holds the index of
// the member plus 1, below bits of its hash. Slots are in the order of hashes: most sets are walked
// in this order.
type memberTable struct {
	slots []uint64
	shift int
}

const (
	indexBits = 32
	hashMask  = 1<<(64-indexBits) - 1
)

// reserve makes room for more members besides those found. It must be called before they are added:
// members that arrive in the order of their hashes would crowd the first slots of a small table.
func (t *memberTable) reserve(found []values.Hashed, more int) {
	n := bits.Len(uint(len(found)+more) * 3 / 2)
	if 1<<n <= len(t.slots) {
		return
	}
	t.slots, t.shift = make([]uint64, 1<<n), 64-n
	for i := range found {
		t.slots[t.free(found[i].Hash)] = slotOf(found[i].Hash, i)
	}
}

// free returns the first free slot for a hash.
func (t *memberTable) free(hash uint64) (i int) {
	for i = int(hash >> t.shift); t.slots[i] != 0; i = (i + 1) & (len(t.slots) - 1) {
	}
	return i
}

func slotOf(hash uint64, index int) uint64 { return hash&hashMask<<indexBits | uint64(index+1) }

// add adds a member that will be the next of found. Its bytes are in text. It reports whether the
// member is new.
func (t *memberTable) add(text []byte, found []values.Hashed, m *values.HashedElement) bool {
	i, low := int(m.Hash>>t.shift), m.Hash&hashMask
	for ; t.slots[i] != 0; i = (i + 1) & (len(t.slots) - 1) {
		if t.slots[i]>>indexBits != low {
			continue
		}
		if old := &found[t.slots[i]&(1<<indexBits-1)-1]; m.Equal(text[old.At : old.At+old.Len]) {
			return false
		}
	}
	t.slots[i] = slotOf(m.Hash, len(found))
	return true
}
