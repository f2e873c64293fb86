package datatypes

import (
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
	"limitsrv/engine/values/numbers"
)

const (
	// workOfMember is the work to add, change or remove a member of a sorted set.
	workOfMember = 32
	// workToRemove is the work to remove a member of a range.
	workToRemove = 24
)

// addFlags are the options of ZADD that are flags.
var addFlags = [...]struct {
	word string
	flag values.AddFlags
}{
	{"NX", values.OnlyNew}, {"XX", values.OnlyOld}, {"GT", values.OnlyGreater}, {"LT", values.OnlyLess},
	{"INCR", values.Increment},
}

// parseAdd parses the options of ZADD, up to the first other word.
func parseAdd(args [][]byte) (flags values.AddFlags, changed bool, pairs [][]byte, wrong string) {
next:
	for ; len(args) > 0; args = args[1:] {
		for i := range addFlags {
			if isWord(args[0], addFlags[i].word) {
				flags |= addFlags[i].flag
				continue next
			}
		}
		if !isWord(args[0], "CH") {
			break
		}
		changed = true
	}
	has := func(f values.AddFlags) bool { return flags&f == f }
	switch {
	case len(args)%2 != 0 || len(args) == 0:
		wrong = errSyntax
	case has(values.OnlyNew | values.OnlyOld):
		wrong = "ERR XX and NX options at the same time are not compatible"
	case has(values.OnlyGreater | values.OnlyNew), has(values.OnlyLess | values.OnlyNew),
		has(values.OnlyGreater | values.OnlyLess):
		wrong = "ERR GT, LT, and/or NX options at the same time are not compatible"
	case has(values.Increment) && len(args) > 2:
		wrong = "ERR INCR option supports a single increment-element pair"
	}
	return flags, changed, args, wrong
}

func zAdd(tx *engine.Tx, args [][]byte, out []byte) []byte {
	flags, changed, pairs, wrong := parseAdd(args[1:])
	if wrong != "" {
		return fail(out, wrong)
	}
	return addMembers(tx, args[0], pairs, flags, changed, out)
}

func zIncrBy(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return addMembers(tx, args[0], args[1:], values.Increment, false, out)
}

// addMembers adds members, each after its score, and answers their number, or the score if
// it is an increment. With changed, members with another score count, too.
func addMembers(tx *engine.Tx, key []byte, pairs [][]byte, flags values.AddFlags, changed bool, out []byte) []byte {
	for i := 0; i < len(pairs); i += 2 {
		charge(tx, workOfMember+2*workToParse(len(pairs[i])))
		if _, ok := numbers.ParseDouble(pairs[i]); !ok {
			return fail(out, errNotFloat)
		}
	}
	z, e, ok := findSortedSet(tx, key)
	if !ok {
		return fail(out, errWrongType)
	}
	if wrong := checkSizes(z.Count, len(pairs)/2, pairs); wrong != "" {
		return fail(out, wrong)
	}
	if tx.Tight() && flags&values.OnlyOld == 0 && membersGrow(&z, pairs) {
		return fail(out, errFull)
	}
	if flags&values.OnlyOld == 0 {
		z.Reserve(len(pairs)/2, longest(pairs))
	}
	var (
		added, updated int64
		last           values.Added
		score          float64
	)
	before := z.Head
	for i := 0; i < len(pairs) && last != values.NotANumber; i += 2 {
		score, _ = numbers.ParseDouble(pairs[i])
		switch last, score = z.Add(pairs[i+1], score, flags); last {
		case values.Created:
			added++
		case values.Updated:
			updated++
		}
	}
	if z.Head != before {
		tx.Keep(e, engine.SortedSet, z.Head)
	}
	switch {
	case last == values.NotANumber:
		return fail(out, "ERR resulting score is not a number (NaN)")
	case flags&values.Increment != 0 && last == values.Prevented:
		return answer.AppendNil(out)
	case flags&values.Increment != 0:
		return answer.AppendDouble(out, score)
	case changed:
		return answer.AppendInt(out, added+updated)
	}
	return answer.AppendInt(out, added)
}

// longest returns the length of the longest member, each after its score.
func longest(pairs [][]byte) (n int) {
	for i := 1; i < len(pairs); i += 2 {
		n = max(n, len(pairs[i]))
	}
	return n
}

// membersGrow reports whether a member, each after its score, is new.
func membersGrow(z *values.SortedSet, pairs [][]byte) bool {
	for i := 1; i < len(pairs); i += 2 {
		if _, has := z.Score(pairs[i]); !has {
			return true
		}
	}
	return false
}

func zRem(tx *engine.Tx, args [][]byte, out []byte) []byte {
	z, e, ok := findSortedSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	n := int64(0)
	charge(tx, workOfMember*(len(args)-1))
	for _, member := range args[1:] {
		if z.Remove(member) {
			n++
		}
	}
	if n > 0 {
		tx.Keep(e, engine.SortedSet, z.Head)
	}
	return answer.AppendInt(out, n)
}

// zPop removes and answers members from an end.
func zPop(tx *engine.Tx, args [][]byte, d direction, out []byte) []byte {
	if len(args) > 2 {
		return fail(out, errSyntax)
	}
	n := int64(1)
	if len(args) == 2 {
		var ok bool
		if n, ok = numbers.ParseInt(args[1]); !ok || n < 0 {
			return fail(out, errCount)
		}
	}
	z, e, ok := findSortedSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	n = min(n, int64(z.Count))
	if n == 0 {
		return answer.AppendArray(out, 0)
	}
	r := memberRange{from: 0, n: int(n), direction: d, scores: true, flat: len(args) == 1}
	if d == downwards {
		r.from = z.Count - int(n)
	}
	if out, ok = r.answer(tx, &z, out); !ok {
		return out
	}
	charge(tx, workToRemove*r.n)
	z.RemoveRange(r.from, r.n)
	tx.Keep(e, engine.SortedSet, z.Head)
	return out
}
