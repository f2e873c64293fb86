package slots

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Set is a set of slots: runs in ascending order that neither overlap nor touch. Its text has
// the runs, separated by commas; a single slot has no end.
type Set []Run

// Whole is the set of all slots.
var Whole = Set{All}

// Parse returns the set of a text such as 0-5460,9000. The runs may have any order, and may not
// overlap.
func Parse(text string) (Set, error) {
	var s Set
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRun := strings.Cut(part, "-")
		if !isRun {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 16)
		to, err2 := strconv.ParseUint(last, 10, 16)
		if err != nil || err2 != nil || from > to || to >= Count {
			return nil, fmt.Errorf("slots are ranges of the numbers 0 to %d such as 0-5460,9000, got %q", Count-1, part)
		}
		s = append(s, Run{Slot(from), Slot(to)})
	}
	slices.SortFunc(s, func(a, b Run) int { return int(a.First) - int(b.First) })
	joined := s[:1]
	for _, r := range s[1:] {
		switch last := &joined[len(joined)-1]; {
		case r.First <= last.Last:
			return nil, fmt.Errorf("slot %d is in two ranges of %q", r.First, text)
		case r.First == last.Last+1:
			last.Last = r.Last
		default:
			joined = append(joined, r)
		}
	}
	return joined, nil
}

// Has reports whether a slot is in the set. Cost: linear in the runs.
func (s Set) Has(slot Slot) bool {
	for _, r := range s {
		if slot <= r.Last {
			return slot >= r.First
		}
	}
	return false
}

// Len returns the number of slots.
func (s Set) Len() (n int) {
	for _, r := range s {
		n += int(r.Last) - int(r.First) + 1
	}
	return n
}

// Shared returns the first slot that is in both sets. Cost: the product of the runs.
func (s Set) Shared(other Set) (slot Slot, any bool) {
	for _, a := range s {
		for _, b := range other {
			if first := max(a.First, b.First); first <= min(a.Last, b.Last) {
				return first, true
			}
		}
	}
	return 0, false
}

// String returns the text of the set.
func (s Set) String() string { return s.Join(",") }

// Join returns the runs, separated by a text.
func (s Set) Join(by string) string {
	words := make([]string, len(s))
	for i, r := range s {
		words[i] = r.String()
	}
	return strings.Join(words, by)
}

// MarshalText returns String.
func (s Set) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses a text, see Parse.
func (s *Set) UnmarshalText(text []byte) (err error) {
	*s, err = Parse(string(text))
	return err
}
