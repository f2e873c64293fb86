package datatypes

import (
	"bytes"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
	"limitsrv/engine/values/numbers"
)

// findSet finds the set of a key, which may be empty. ok is false if the key has another
// value.
func findSet(tx *engine.Tx, key []byte) (t values.Set, e engine.Entry, ok bool) {
	if e, ok = findRow(tx, key, engine.Set); ok {
		t = tx.Set(e)
	}
	return t, e, ok
}

func sCard(tx *engine.Tx, args [][]byte, out []byte) []byte {
	t, _, ok := findSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	return answer.AppendInt(out, int64(t.Count))
}

func sIsMember(tx *engine.Tx, args [][]byte, out []byte) []byte {
	t, _, ok := findSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	return truth(out, t.Contains(args[1]))
}

func sMIsMember(tx *engine.Tx, args [][]byte, out []byte) []byte {
	t, _, ok := findSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	charge(tx, workToProbe/2*(len(args)-1))
	out = answer.AppendArray(out, len(args)-1)
	for _, member := range args[1:] {
		out = truth(out, t.Contains(member))
	}
	return out
}

func sMembers(tx *engine.Tx, args [][]byte, out []byte) []byte {
	t, _, ok := findSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	charge(tx, 2*t.Count)
	out, _ = appendMembers(tx, out, &t, true)
	return out
}

// appendMembers answers all members, or an error if they are too long. If counted is false, the set
// has one member, and the answer is that member instead of a set.
func appendMembers(tx *engine.Tx, out []byte, t *values.Set, counted bool) (answered []byte, ok bool) {
	most := limitFor(tx, out, t.Count, 0)
	if counted {
		out = answer.AppendSet(out, t.Count)
	}
	walk := t.Walk()
	for member, more := walk.Next(); more; member, more = walk.Next() {
		if !most.fits(out, member.Len()) {
			return most.tooLong(out, member.Len()), false
		}
		out = appendElement(out, member)
	}
	return most.done(out), true
}

func sAdd(tx *engine.Tx, args [][]byte, out []byte) []byte {
	t, e, ok := findSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	members := args[1:]
	if wrong := checkSizes(t.Count, len(members), members); wrong != "" {
		return fail(out, wrong)
	}
	if tx.Tight() {
		for _, member := range members {
			if !t.Contains(member) {
				return fail(out, errFull)
			}
		}
	}
	charge(tx, workToProbe*len(members))
	before := t.Head
	t.Reserve(len(members), members[0])
	n := int64(0)
	for _, member := range members {
		if t.Add(member) {
			n++
		}
	}
	if t.Head != before {
		tx.Keep(e, engine.Set, t.Head)
	}
	return answer.AppendInt(out, n)
}

func sRem(tx *engine.Tx, args [][]byte, out []byte) []byte {
	t, e, ok := findSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	charge(tx, workToProbe*(len(args)-1))
	n := int64(0)
	for _, member := range args[1:] {
		if t.Remove(member) {
			n++
		}
	}
	if n > 0 {
		tx.Keep(e, engine.Set, t.Head)
	}
	return answer.AppendInt(out, n)
}

func sMove(tx *engine.Tx, args [][]byte, out []byte) []byte {
	member := args[2]
	t, e, ok := findSet(tx, args[0])
	switch {
	case !ok:
		return fail(out, errWrongType)
	case t.Count == 0:
		return answer.AppendInt(out, 0)
	}
	to, _, ok := findSet(tx, args[1])
	switch {
	case !ok:
		return fail(out, errWrongType)
	case !t.Contains(member):
		return answer.AppendInt(out, 0)
	case bytes.Equal(args[0], args[1]):
		return answer.AppendInt(out, 1)
	}
	if wrong := checkSizes(to.Count, 1, nil); wrong != "" {
		return fail(out, wrong)
	}
	t.Remove(member)
	tx.Keep(e, engine.Set, t.Head)
	to, e, _ = findSet(tx, args[1])
	if to.Add(member) {
		tx.Keep(e, engine.Set, to.Head)
	}
	return answer.AppendInt(out, 1)
}

func sPop(tx *engine.Tx, args [][]byte, out []byte) []byte {
	if len(args) > 2 {
		return fail(out, errSyntax)
	}
	n, counted := int64(1), len(args) == 2
	if counted {
		var ok bool
		if n, ok = numbers.ParseInt(args[1]); !ok || n < 0 {
			return fail(out, errCount)
		}
	}
	t, e, ok := findSet(tx, args[0])
	switch {
	case !ok:
		return fail(out, errWrongType)
	case t.Count == 0 && !counted:
		return answer.AppendNil(out)
	}
	n = min(n, int64(t.Count))
	switch {
	case n == 0:
		return answer.AppendSet(out, 0)
	case n == int64(t.Count):
		charge(tx, 2*t.Count)
		if out, ok = appendMembers(tx, out, &t, counted); ok {
			tx.Drop(e)
		}
		return out
	}
	most := limitFor(tx, out, int(n), 0)
	if counted {
		out = answer.AppendSet(out, int(n))
	}
	charge(tx, (workToPick+workToProbe)*int(n))
	ranks, bytes := values.Ranks(nil, tx.Random(), t.Count, int(n)), 0
	for _, i := range ranks {
		if bytes += t.At(i).Len(); !most.fits(out, bytes) {
			return most.tooLong(out, bytes)
		}
	}
	for i := len(ranks) - 1; i >= 0; i-- {
		out = appendElement(out, t.At(ranks[i]))
	}
	t.RemoveRanks(ranks)
	tx.Keep(e, engine.Set, t.Head)
	return most.done(out)
}

func sRandMember(tx *engine.Tx, args [][]byte, out []byte) []byte {
	o, wrong := parseRandom(args[1:], "")
	if wrong != "" {
		return fail(out, wrong)
	}
	t, _, ok := findSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	return o.draw(tx, t.Count, out, func(i int, out []byte) []byte { return appendElement(out, t.At(i)) })
}

func sScan(tx *engine.Tx, args [][]byte, out []byte) []byte {
	t, _, ok := findSet(tx, args[0])
	o, wrong := parseScan(tx, args[1:], ok, t.Count)
	if wrong != "" {
		return fail(out, wrong)
	}
	r := scanReply{tx: tx, match: o.match}
	walk := t.Scan(tx.Place(o.cursor), o.count)
	for member, more := walk.Next(); more; member, more = walk.Next() {
		r.add(member)
	}
	return r.answer(out, tx.Cursor(walk.Cursor()))
}
