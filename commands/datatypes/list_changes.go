package datatypes

import (
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
	"limitsrv/engine/values/numbers"
)

// An end is an end of a list.
type end uint8

const (
	head end = iota
	tail
)

// pushOnto is push for a list that must be there.
func pushOnto(tx *engine.Tx, args [][]byte, at end, out []byte) []byte {
	if _, there := tx.Find(args[0]); !there {
		return answer.AppendInt(out, 0)
	}
	return push(tx, args, at, out)
}

// push adds each entry at an end, and answers the length.
func push(tx *engine.Tx, args [][]byte, at end, out []byte) []byte {
	entries := args[1:]
	l, e, ok := findList(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	if wrong := mayAdd(tx, &l, entries); wrong != "" {
		return fail(out, wrong)
	}
	charge(tx, 4*len(entries))
	reserve(&l, entries)
	for _, entry := range entries {
		pushOne(&l, at, entry)
	}
	tx.Keep(e, engine.List, l.Head)
	return answer.AppendInt(out, int64(l.Count))
}

// mayAdd returns an error if a list can not have further entries.
func mayAdd(tx *engine.Tx, l *values.List, entries [][]byte) (wrong string) {
	if wrong := checkSizes(l.Count, len(entries), entries); wrong != "" {
		return wrong
	}
	if tx.Tight() {
		return errFull
	}
	return ""
}

// reserve prepares a list for entries.
func reserve(l *values.List, entries [][]byte) {
	n := 0
	for _, entry := range entries {
		n += len(entry)
	}
	l.Reserve(n)
}

func pushOne(l *values.List, at end, entry []byte) {
	if at == head {
		l.Insert(0, entry)
	} else {
		l.Insert(l.Count, entry)
	}
}

// place returns the place of the entry at an end. Requires: the list has an entry.
func (at end) place(l *values.List) int {
	if at == head {
		return 0
	}
	return l.Count - 1
}

func lPop(tx *engine.Tx, args [][]byte, out []byte) []byte { return pop(tx, args, "lpop", head, out) }

func rPop(tx *engine.Tx, args [][]byte, out []byte) []byte { return pop(tx, args, "rpop", tail, out) }

// pop carries out LPOP or RPOP.
func pop(tx *engine.Tx, args [][]byte, name string, at end, out []byte) []byte {
	if len(args) > 2 {
		return fail(out, errArity(name))
	}
	n, counted := int64(1), len(args) == 2
	if counted {
		var ok bool
		if n, ok = numbers.ParseInt(args[1]); !ok || n < 0 {
			return fail(out, errCount)
		}
	}
	l, e, ok := findList(tx, args[0])
	switch {
	case !ok:
		return fail(out, errWrongType)
	case l.Count == 0 && counted:
		return answer.AppendNilArray(out)
	case l.Count == 0:
		return answer.AppendNil(out)
	case n == 0:
		return answer.AppendArray(out, 0)
	}
	n = min(n, int64(l.Count))
	most := limitFor(tx, out, int(n), 0)
	if counted {
		out = answer.AppendArray(out, int(n))
	}
	walk := l.Walk(0)
	if at == tail {
		walk = l.WalkBack(l.Count - 1)
	}
	for range n {
		entry, _ := walk.Next()
		if !most.fits(out, entry.Len()) {
			return most.tooLong(out, entry.Len())
		}
		out = appendElement(out, entry)
	}
	most.done(out)
	switch rest := l.Count - int(n); {
	case n == 1:
		l.Delete(at.place(&l))
	case at == head:
		l.Trim(int(n), rest)
	default:
		l.Trim(0, rest)
	}
	tx.Keep(e, engine.List, l.Head)
	return out
}

func lTrim(tx *engine.Tx, args [][]byte, out []byte) []byte {
	start, ok := numbers.ParseInt(args[1])
	last, ok2 := numbers.ParseInt(args[2])
	if !ok || !ok2 {
		return fail(out, errNotInt)
	}
	l, e, ok := findList(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	if from, n := slice(start, last, l.Count); n < l.Count {
		charge(tx, 16+2*(l.Count-n))
		l.Trim(from, n)
		tx.Keep(e, engine.List, l.Head)
	}
	return append(out, answer.OK...)
}

func lSet(tx *engine.Tx, args [][]byte, out []byte) []byte {
	l, e, ok := findList(tx, args[0])
	switch {
	case !ok:
		return fail(out, errWrongType)
	case l.Count == 0:
		return fail(out, errNoKey)
	}
	i, ok := numbers.ParseInt(args[1])
	if !ok {
		return fail(out, errNotInt)
	}
	at, ok := index(tx, &l, i)
	if !ok {
		return fail(out, "ERR index out of range")
	}
	if wrong := checkSizes(l.Count, 0, args[2:]); wrong != "" {
		return fail(out, wrong)
	}
	if tx.Tight() && len(args[2]) > l.At(at).Len() {
		return fail(out, errFull)
	}
	reserve(&l, args[2:])
	l.Set(at, args[2])
	tx.Keep(e, engine.List, l.Head)
	return append(out, answer.OK...)
}

// chargeLength charges the comparison of an element with b. Bytes are compared only if the lengths
// are equal.
func chargeLength(tx *engine.Tx, e values.Element, b []byte) {
	if len(b) >= bytesPerElement && e.Len() == len(b) {
		charge(tx, len(b)/bytesPerElement)
	}
}

// chargeEqual charges the comparison of all elements of a list with b.
func chargeEqual(tx *engine.Tx, l *values.List, b []byte) {
	if len(b) < bytesPerElement {
		return
	}
	walk := l.Walk(0)
	for e, more := walk.Next(); more; e, more = walk.Next() {
		chargeLength(tx, e, b)
	}
}

func lRem(tx *engine.Tx, args [][]byte, out []byte) []byte {
	n, ok := numbers.ParseInt(args[1])
	if !ok {
		return fail(out, errNotInt)
	}
	if n < -values.MaxCount { // more than there are
		n = -values.MaxCount
	}
	l, e, ok := findList(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	removed := 0
	if l.Count > 0 {
		tx.AddWork(l.Count)
		chargeEqual(tx, &l, args[2])
		removed = l.RemoveEqual(args[2], int(n))
	}
	if removed > 0 {
		tx.Keep(e, engine.List, l.Head)
	}
	return answer.AppendInt(out, int64(removed))
}

func lInsert(tx *engine.Tx, args [][]byte, out []byte) []byte {
	after := 0
	switch {
	case isWord(args[1], "AFTER"):
		after = 1
	case !isWord(args[1], "BEFORE"):
		return fail(out, errSyntax)
	}
	l, e, ok := findList(tx, args[0])
	switch {
	case !ok:
		return fail(out, errWrongType)
	case l.Count == 0:
		return answer.AppendInt(out, 0)
	}
	at := 0
	for walk := l.Walk(0); ; at++ {
		tx.AddWork(1)
		entry, more := walk.Next()
		if !more {
			return answer.AppendInt(out, -1)
		}
		if chargeLength(tx, entry, args[2]); entry.Equal(args[2]) {
			break
		}
	}
	if wrong := mayAdd(tx, &l, args[3:]); wrong != "" {
		return fail(out, wrong)
	}
	reserve(&l, args[3:])
	l.Insert(at+after, args[3])
	tx.Keep(e, engine.List, l.Head)
	return answer.AppendInt(out, int64(l.Count))
}

// parseEnd parses the name of an end.
func parseEnd(arg []byte) (at end, ok bool) {
	if isWord(arg, "LEFT") {
		return head, true
	}
	return tail, isWord(arg, "RIGHT")
}

func lMove(tx *engine.Tx, args [][]byte, out []byte) []byte {
	from, ok := parseEnd(args[2])
	to, ok2 := parseEnd(args[3])
	if !ok || !ok2 {
		return fail(out, errSyntax)
	}
	return move(tx, args[0], args[1], from, to, out)
}

func rPopLPush(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return move(tx, args[0], args[1], tail, head, out)
}

// move moves an entry from an end of a list to an end of another, or the same, and answers
// it.
func move(tx *engine.Tx, source, target []byte, from, to end, out []byte) []byte {
	l, e, ok := findList(tx, source)
	switch {
	case !ok:
		return fail(out, errWrongType)
	case l.Count == 0:
		return answer.AppendNil(out)
	}
	onto, _, ok := findList(tx, target)
	if !ok {
		return fail(out, errWrongType)
	}
	tx.Scratch = l.At(from.place(&l)).Append(tx.Scratch[:0])
	moved := [][]byte{tx.Scratch}
	if wrong := mayAdd(tx, &onto, moved); wrong != "" {
		return fail(out, wrong)
	}
	l.Delete(from.place(&l))
	if string(source) == string(target) {
		pushOne(&l, to, tx.Scratch)
		tx.Keep(e, engine.List, l.Head)
		return answer.AppendBulk(out, tx.Scratch)
	}
	tx.Keep(e, engine.List, l.Head)
	onto, e, _ = findList(tx, target)
	reserve(&onto, moved)
	pushOne(&onto, to, tx.Scratch)
	tx.Keep(e, engine.List, onto.Head)
	return answer.AppendBulk(out, tx.Scratch)
}
