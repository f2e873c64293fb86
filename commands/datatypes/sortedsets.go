package datatypes

import (
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
)

// findSortedSet finds the sorted set of a key, which may be empty. ok is false if the key has
// another value.
func findSortedSet(tx *engine.Tx, key []byte) (z values.SortedSet, e engine.Entry, ok bool) {
	if e, ok = findRow(tx, key, engine.SortedSet); ok {
		z = tx.SortedSet(e)
	}
	return z, e, ok
}

func zCard(tx *engine.Tx, args [][]byte, out []byte) []byte {
	z, _, ok := findSortedSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	return answer.AppendInt(out, int64(z.Count))
}

// appendScore answers the score of a member, or Nil.
func appendScore(z *values.SortedSet, member, out []byte) []byte {
	if score, ok := z.Score(member); ok {
		return answer.AppendDouble(out, score)
	}
	return answer.AppendNil(out)
}

func zScore(tx *engine.Tx, args [][]byte, out []byte) []byte {
	z, _, ok := findSortedSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	return appendScore(&z, args[1], out)
}

func zMScore(tx *engine.Tx, args [][]byte, out []byte) []byte {
	z, _, ok := findSortedSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	charge(tx, workToProbe/2*(len(args)-1))
	out = answer.AppendArray(out, len(args)-1)
	for _, member := range args[1:] {
		out = appendScore(&z, member, out)
	}
	return out
}

func zRank(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return rank(tx, args, "zrank", upwards, out)
}

func zRevRank(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return rank(tx, args, "zrevrank", downwards, out)
}

// A direction is the order of members in an answer.
type direction uint8

const (
	upwards direction = iota
	downwards
)

// rank carries out ZRANK or ZREVRANK.
func rank(tx *engine.Tx, args [][]byte, name string, d direction, out []byte) []byte {
	switch {
	case len(args) > 3:
		return fail(out, errArity(name))
	case len(args) == 3 && !isWord(args[2], "WITHSCORE"):
		return fail(out, errSyntax)
	}
	z, _, ok := findSortedSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	r, has := z.Rank(args[1])
	switch {
	case !has && len(args) == 3:
		return answer.AppendNilArray(out)
	case !has:
		return answer.AppendNil(out)
	}
	if d == downwards {
		r = z.Count - 1 - r
	}
	if len(args) == 3 {
		return appendScore(&z, args[1], answer.AppendInt(answer.AppendArray(out, 2), int64(r)))
	}
	return answer.AppendInt(out, int64(r))
}

func zRandMember(tx *engine.Tx, args [][]byte, out []byte) []byte {
	o, wrong := parseRandom(args[1:], "WITHSCORES")
	if wrong != "" {
		return fail(out, wrong)
	}
	z, _, ok := findSortedSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	return o.draw(tx, z.Count, out, func(i int, out []byte) []byte {
		member, score := z.At(i)
		if !o.pairs {
			return appendElement(out, member)
		}
		return answer.AppendDouble(appendElement(answer.AppendPair(out), member), score)
	})
}

func zScan(tx *engine.Tx, args [][]byte, out []byte) []byte {
	z, _, ok := findSortedSet(tx, args[0])
	o, wrong := parseScan(tx, args[1:], ok, z.Count)
	if wrong != "" {
		return fail(out, wrong)
	}
	r := scanReply{tx: tx, match: o.match}
	scan := z.Scan(tx.Place(o.cursor), o.count)
	for member, score, more := scan.Next(); more; member, score, more = scan.Next() {
		if r.add(member) {
			r.addScore(score)
		}
	}
	return r.answer(out, tx.Cursor(scan.Cursor()))
}
