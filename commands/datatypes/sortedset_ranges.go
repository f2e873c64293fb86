package datatypes

import (
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
	"limitsrv/engine/values/numbers"
)

// A memberRange is n members of a sorted set. from is the number of members before the
// first.
type memberRange struct {
	from, n   int
	direction direction
	scores    bool // are answered
	flat      bool // members and scores are no pairs in any protocol
}

// answer appends the members of the range, or an error if they are too long.
func (r *memberRange) answer(tx *engine.Tx, z *values.SortedSet, out []byte) (answered []byte, ok bool) {
	most := limitFor(tx, out, r.n, 0)
	if r.scores {
		most = limitFor(tx, out, 2*r.n, r.n)
	}
	if !most.fits(out, 0) {
		return most.tooLong(out, 0), false
	}
	if out, ok = r.append(tx, z, out, &most); !ok {
		return most.tooLong(out, 0), false
	}
	return most.done(out), true
}

// append appends the members of the range. ok is false, and members are missing, if they exceed
// most. A nil most means no limit.
func (r *memberRange) append(
	tx *engine.Tx, z *values.SortedSet, out []byte, most *limit,
) (appended []byte, ok bool) {
	switch {
	case r.n == 0:
		return answer.AppendArray(out, 0), true
	case r.scores && r.flat:
		out = answer.AppendArray(out, 2*r.n)
	case r.scores:
		out = answer.AppendPairs(out, r.n)
	default:
		out = answer.AppendArray(out, r.n)
	}
	charge(tx, 2*r.n)
	walk := r.walk(z)
	for range r.n {
		member, score, _ := walk.Next()
		if r.scores && !r.flat {
			out = answer.AppendPair(out)
		}
		out = appendElement(out, member)
		if r.scores {
			out = answer.AppendDouble(out, score)
		}
		if most != nil && most.exceeded(out) {
			return out, false
		}
	}
	return out, true
}

// walk visits the members from the start of a range on. Requires: the range is not empty.
func (r *memberRange) walk(z *values.SortedSet) values.SortedWalk {
	if r.direction == downwards {
		return z.WalkDown(r.from + r.n - 1)
	}
	return z.Walk(r.from)
}

// limit skips some members in the range's direction and leaves count members: all if count
// is negative, and no member if skipped is negative.
func (r *memberRange) limit(skipped, count int64) {
	n := int64(r.n)
	if skipped < 0 || skipped > n {
		skipped = n
	}
	if count < 0 || count > n-skipped {
		count = n - skipped
	}
	if r.direction == downwards {
		r.from += int(n - skipped - count)
	} else {
		r.from += int(skipped)
	}
	r.n = int(count)
}

// An axis is the order that a range refers to.
type axis uint8

const (
	anyAxis axis = iota
	byRank
	byScore
	byLex
)

const (
	errScoreRange = "ERR min or max is not a float"
	errLexRange   = "ERR min or max not valid string range item"
)

// A rangeSpec is a range before the sorted set is known.
type rangeSpec struct {
	axis       axis
	start, end int64 // by rank
	// The bounds by score and by members.
	min, max                   float64
	minExclusive, maxExclusive bool
	least, most                numbers.LexBound
}

// parse parses the bounds, the lower bound first.
func (s *rangeSpec) parse(tx *engine.Tx, low, high []byte) (wrong string) {
	var ok, ok2 bool
	switch s.axis {
	case byScore:
		charge(tx, workToParse(len(low))+workToParse(len(high)))
		s.min, s.minExclusive, ok = numbers.ParseScoreBound(low)
		s.max, s.maxExclusive, ok2 = numbers.ParseScoreBound(high)
		wrong = errScoreRange
	case byLex:
		s.least, ok = numbers.ParseLexBound(low)
		s.most, ok2 = numbers.ParseLexBound(high)
		wrong = errLexRange
	default:
		s.start, ok = numbers.ParseInt(low)
		s.end, ok2 = numbers.ParseInt(high)
		wrong = errNotInt
	}
	if ok && ok2 {
		return ""
	}
	return wrong
}

// in returns the range in a sorted set. By rank it counts in the direction d.
func (s *rangeSpec) in(z *values.SortedSet, d direction) (r memberRange) {
	r.direction = d
	to := 0
	switch s.axis {
	case byScore:
		r.from, to = below(z, s.min, s.minExclusive), below(z, s.max, !s.maxExclusive)
	case byLex:
		r.from, to = before(z, &s.least, s.least.Exclusive), before(z, &s.most, !s.most.Exclusive)
	default:
		var n int
		if r.from, n = slice(s.start, s.end, z.Count); d == downwards {
			r.from = z.Count - r.from - n
		}
		r.n = n
		return r
	}
	r.n = max(0, to-r.from)
	return r
}

// slice returns the range from an index to another, in a sequence of count elements. A
// negative index counts from the end.
func slice(start, end int64, count int) (from, n int) {
	size := int64(count)
	if start < 0 {
		start = max(0, size+start)
	}
	if end < 0 {
		end += size
	}
	end = min(end, size-1)
	if start > end {
		return 0, 0
	}
	return int(start), int(end - start + 1)
}

// below returns the number of members with a score less than x, or, if through is set, at
// most x.
func below(z *values.SortedSet, x float64, through bool) int {
	if through {
		return z.UpTo(x)
	}
	return z.Below(x)
}

// before is the same for a bound of members.
func before(z *values.SortedSet, b *numbers.LexBound, through bool) int {
	switch {
	case b.Infinite < 0:
		return 0
	case b.Infinite > 0:
		return z.Count
	case through:
		return z.Through(b.Member)
	}
	return z.Before(b.Member)
}

func countRange(tx *engine.Tx, args [][]byte, by axis, out []byte) []byte {
	s := rangeSpec{axis: by}
	if wrong := s.parse(tx, args[1], args[2]); wrong != "" {
		return fail(out, wrong)
	}
	z, _, ok := findSortedSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	return answer.AppendInt(out, int64(s.in(&z, upwards).n))
}

func removeRange(tx *engine.Tx, args [][]byte, by axis, out []byte) []byte {
	s := rangeSpec{axis: by}
	if wrong := s.parse(tx, args[1], args[2]); wrong != "" {
		return fail(out, wrong)
	}
	z, e, ok := findSortedSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	r := s.in(&z, upwards)
	if r.n > 0 {
		charge(tx, workToRemove*r.n)
		z.RemoveRange(r.from, r.n)
		tx.Keep(e, engine.SortedSet, z.Head)
	}
	return answer.AppendInt(out, int64(r.n))
}
