package rules

import (
	"slices"
	"strings"

	"limitsrv/commands/rules/source"
)

// flat finds rules by attributes in any order. Each rule is a candidate for requests with
// one of its values of one attribute: the attribute that the fewest rules share; or with an
// attribute of any value; or for all requests.
type flat struct {
	rules   []flatRule
	table   table // (0, key, value) -> index in buckets
	buckets [][]int32
	always  []int32
}

// A flatRule is a rule over attributes.
type flatRule struct {
	rule   *Rule
	match  []condition
	per    []string
	bits   []source.Bits // lengths of the counted ranges, by index in per; nil: no ranges
	sorted []int         // indexes into per, sorted by name
	tier   string
	// perNumbers are the numbers of per, tierNumber is the number of tier, or unnamed without a
	// tier.
	perNumbers []int32
	tierNumber int32
	needed     uint64   // the bits of all these, as in part.present
	limits     []*Limit // without a tier
	tiers      map[string][]*Limit
	other      []*Limit // of the tier default; nil without that tier
	stem       string   // of keys: rule:DOMAIN|RULE
}

// A condition is an attribute with the values that it may have.
type condition struct {
	key      string
	number   int32 // of key
	literals []string
	patterns []pattern
}

func (m *condition) matches(value []byte) bool {
	for _, l := range m.literals {
		if l == string(value) {
			return true
		}
	}
	for i := range m.patterns {
		if m.patterns[i].matches(value) {
			return true
		}
	}
	return false
}

// defaultTier is the tier of values without a tier of their own.
const defaultTier = "default"

// resolve appends the indexes of the entries that the rule needs: of match, of per, and of tier. ok
// is false if the descriptor has not all of them; then places is unchanged.
func (r *flatRule) resolve(s *attributeSet, places []uint8) (all []uint8, ok bool) {
	if r.needed&^s.present != 0 {
		return places, false
	}
	all = places
	for i := range r.match {
		if all, ok = s.appendPlace(all, r.match[i].number); !ok {
			return places, false
		}
	}
	for _, number := range r.perNumbers {
		if all, ok = s.appendPlace(all, number); !ok {
			return places, false
		}
	}
	if r.tier != "" {
		if all, ok = s.appendPlace(all, r.tierNumber); !ok {
			return places, false
		}
	}
	return all, true
}

// limitsFor returns the limits of the rule for entries; ok is false if the rule does not match.
// Requires: places is the result of resolve for entries.
func (r *flatRule) limitsFor(entries []Entry, places []uint8) (limits []*Limit, ok bool) {
	for i := range r.match {
		if !r.match[i].matches(entries[places[i]].Value) {
			return nil, false
		}
	}
	return r.chosen(entries, places)
}

// chosen is limitsFor for entries that meet the conditions of the rule.
func (r *flatRule) chosen(entries []Entry, places []uint8) (limits []*Limit, ok bool) {
	if r.tier == "" {
		return r.limits, true
	}
	tier := entries[places[len(places)-1]].Value
	if limits, ok = r.tiers[string(tier)]; !ok {
		limits = r.other
	}
	return limits, limits != nil
}

// group returns the text that identifies the counter of attribute i of per: its value, or its
// address range.
func (r *flatRule) group(i int, value []byte) []byte {
	if r.bits != nil {
		if p, ok := groupOf(value, r.bits[i]); ok {
			return p.AppendTo(nil)
		}
	}
	return value
}

// find returns the first entry with a key, or nil.
func find(entries []Entry, key string) *Entry {
	for i := range entries {
		if string(entries[i].Key) == key {
			return &entries[i]
		}
	}
	return nil
}

// onlyOne is the order of one key.
var onlyOne = []int{0}

// sortedOrder returns the indexes of keys in their sorted order.
func sortedOrder(keys []string) []int {
	if len(keys) <= 1 {
		return onlyOne[:len(keys)]
	}
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(keys[a], keys[b]) })
	return order
}
