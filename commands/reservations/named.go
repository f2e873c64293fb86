package reservations

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"limitsrv/commands/weighing"
	"limitsrv/commands/word"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/siphash"
)

// CommitNamed appends a call that settles the reservation of an id with the named amounts in all. Each limit with
// weights counts the weighed sum. A limit without weights keeps the tokens that it has taken. CommitNamed sorts all
// by name, so the same amounts in another order are the same commit. The head has for each amount the length of its
// name, the name and the number.
//
// Requires: 1 to weighing.MostNames amounts with different names, as weighing.IsName wants
// them, and numbers from 0 to engine.MaxN.
func CommitNamed(b *engine.Batch, id []byte, all []weighing.Amount) {
	weighing.Sort(all)
	var head []byte
	for i := range all {
		head = binary.AppendUvarint(appendText(head, all[i].Name), uint64(all[i].N))
	}
	addCall(b, callCommitNamed, id, head)
}

// readAmounts appends the amounts of a call of CommitNamed to dst.
func readAmounts(dst []weighing.Amount, head []byte) (all []weighing.Amount, ok bool) {
	r := reader{data: head}
	for len(r.data) > 0 && !r.bad && len(dst) < weighing.MostNames {
		a := weighing.Amount{Name: r.name(), N: r.uvarint()}
		last := len(dst) - 1
		if a.N < 0 || a.N > engine.MaxN || last >= 0 && bytes.Compare(dst[last].Name, a.Name) >= 0 {
			return nil, false
		}
		dst = append(dst, a)
	}
	return dst, !r.bad && len(r.data) == 0 && len(dst) > 0
}

func checkCommitNamed(c *engine.Call) error {
	if len(c.Args) != firstOp {
		return errCall
	}
	_, ok := readAmounts(nil, c.Args[headArg])
	return checkHead(c, ok)
}

// namedSums is the key of the hashes of the amounts of a CommitNamed, so that they differ from the hashes of the
// numbers of a Commit.
var namedSums = siphash.KeyFor([16]byte{}, "named amounts")

// commitNamed applies a call of CommitNamed.
func (w *worker) commitNamed(tx *engine.Tx, c *engine.Call) {
	r, ok := w.open(tx, c)
	if !ok {
		return
	}
	w.amounts, _ = readAmounts(w.amounts[:0], c.Args[headArg])
	tx.AddWork(workPerName * (len(r.names) + len(r.weights)))
	if wrong := w.nameAmounts(r); wrong != "" {
		c.Answer = answer.AppendError(c.Answer, wrong)
		return
	}
	first, outcome, weights := r.first(), int64(0), r.weights
	if first.fixed && len(weights) > 0 { // all sums were 0 at the request
		first = &r.limits[weights[0].Limit]
	}
	w.used = w.used[:0]
	for i := range r.limits {
		l := &r.limits[i]
		n := r.total(l)
		if len(weights) > 0 && weights[0].Limit == i {
			var ok bool
			if n, weights, ok = w.weighed(weights); !ok {
				c.Answer = answer.AppendError(c.Answer, fmt.Sprintf(
					"ERR the amounts weigh too much in a limit of the reservation: 0 to %d is allowed", int64(engine.MaxN)))
				return
			}
		}
		if l == first {
			outcome = n
		}
		if !l.fixed {
			n -= r.missed(l, n)
		}
		w.used = append(w.used, n)
	}
	w.finish(tx, c, outcome)
}

// nameAmounts sets w.byName to the amounts by the index of their name in a record. It returns an error for a name
// that the record lacks.
func (w *worker) nameAmounts(r *record) (wrong string) {
	if len(r.names) == 0 {
		return "ERR the reservation has no named amounts: RL.COMMIT takes numbers, got " +
			word.Unquoted(w.amounts[0].Name) + "=" + fmt.Sprint(w.amounts[0].N)
	}
	w.byName = w.byName[:0]
	given := w.amounts
	for _, name := range r.names {
		n := int64(0)
		if len(given) > 0 && bytes.Equal(given[0].Name, name) {
			n, given = given[0].N, given[1:]
		}
		w.byName = append(w.byName, n)
	}
	if len(given) == 0 {
		return ""
	}
	all := make([]string, len(r.names))
	for i := range all {
		all[i] = string(r.names[i])
	}
	unknown := given[0].Name // both are sorted, so the first unknown name is not passed over
	return "ERR amount: one of the reservation, got " + word.Excerpt(unknown) + word.Meant(string(unknown), all)
}

// weighed returns the sum of w.byName by the weights of the first limit in weights, and the weights of the other
// limits.
func (w *worker) weighed(weights []Weight) (n int64, rest []Weight, ok bool) {
	var sum weighing.Sum
	limit := weights[0].Limit
	for ; len(weights) > 0 && weights[0].Limit == limit; weights = weights[1:] {
		sum.Add(w.byName[weights[0].Name], weights[0].Millionths)
	}
	n, ok = sum.Tokens()
	return n, weights, ok
}
