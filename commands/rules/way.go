package rules

import (
	"slices"
	"sync/atomic"
)

// A way is the way of a descriptor through a domain without lists and without a tree, if it has
// certain keys in a certain order. Clients mostly send the same attributes in the same order, so
// that a comparison for each key replaces the search for its number. The values that matter then
// lead to a turn.
//
// It is learned from a descriptor that was matched without it, and holds no part of the domain,
// which other rules may replace.
type way struct {
	domain uint64 // Domain.id; 0: no domain
	number uint32 // of no other way of the work
	uses   uint8  // see isWorn
	keys   []byte // of the entries, in turn
	ends   []int32
	// deciding are the indexes of the entries with values that decide which rules match, or which
	// limits of them.
	deciding []uint8
	forms    []formPlace // the entries with a form
	only     turn        // if no values decide
}

const (
	// ways is the number of ways that a work knows, a power of two. Ways of the same slot displace
	// each other.
	ways = 128
	// maxWayKeys bounds the bytes of the keys of a way.
	maxWayKeys = 512
	// A way or a turn that was used stays for the next maxUses misses of its slot. So if more
	// ways are in use than there is room for, few requests pay for learning a way.
	maxUses = 3
)

// isWorn counts a miss of a way or a turn, and reports whether it may be displaced.
func isWorn(uses *uint8) bool {
	if *uses > 0 {
		*uses--
		return false
	}
	return true
}

// lastDomain is the last Domain.id.
var lastDomain atomic.Uint64

// isDirect reports whether a request may have a way, by the rules of w.d.
func (w *work) isDirect(q *Request) bool {
	return w.d != nil && w.d.direct && w.counts == nil && len(q.Descriptors) == 1 && q.Descriptors[0].Limit == nil
}

// waySlot returns the number of the place of the way of a descriptor.
func waySlot(entries []Entry) uint {
	h := uint(0)
	for i := range entries {
		key := entries[i].Key
		h = h*31 + uint(len(key))
		if n := len(key); n > 1 {
			h += uint(key[n-1])<<1 + uint(key[n-2])<<4
		}
	}
	return h % ways
}

// wayOf returns the way of a descriptor through w.d, or nil if it is not known or if a value may be
// too long.
func (w *work) wayOf(entries []Entry) *way {
	if y := w.way; y != nil && y.fits(w.d, entries) {
		return y
	}
	if w.ways == nil {
		return nil
	}
	y := &w.ways[waySlot(entries)]
	if !y.fits(w.d, entries) {
		return nil
	}
	y.uses, w.way = maxUses, y
	return y
}

// fits reports whether y is the way of a descriptor through a domain, and no value is too long.
func (y *way) fits(d *Domain, entries []Entry) bool {
	if y.domain != d.id || len(y.ends) != len(entries) {
		return false
	}
	from := int32(0)
	for i := range entries {
		e, to := &entries[i], y.ends[i]
		if len(e.Value) > MaxValueBytes || string(e.Key) != string(y.keys[from:to]) {
			return false
		}
		from = to
	}
	return true
}

// learn makes the way and the turn of a descriptor that was matched, if there is room for them.
// Requires: isDirect, and the descriptor was matched last, without an error.
func (w *work) learn(q *Request) {
	s := w.attributes(q, 0)
	y := w.wayOf(s.entries)
	if y == nil {
		if y = w.learnWay(&s); y == nil {
			return
		}
	}
	w.learnTurn(y, &s)
}

// learnWay makes the way of a descriptor, or returns nil if there is no room for it.
func (w *work) learnWay(s *attributeSet) *way {
	if w.ways == nil {
		w.ways = make([]way, ways)
	}
	y := &w.ways[waySlot(s.entries)]
	if !isWorn(&y.uses) {
		return nil
	}
	y.domain, y.keys, y.ends, y.deciding, y.forms = 0, y.keys[:0], y.ends[:0], y.deciding[:0], y.forms[:0]
	for i := range s.entries {
		if y.keys = append(y.keys, s.entries[i].Key...); len(y.keys) > maxWayKeys {
			return nil
		}
		y.ends = append(y.ends, int32(len(y.keys)))
		if f := w.d.formOf(s.entries[i].Key); f != plainForm {
			y.forms = append(y.forms, formPlace{uint8(i), f})
		}
		if n := s.givens[i].number; n >= 0 && w.d.attributes.all[n].decides && s.isFirst(i) {
			y.deciding = append(y.deciding, uint8(i))
		}
	}
	w.made++
	y.domain, y.number, y.uses = w.d.id, w.made, maxUses
	w.way = y
	return y
}

// follow collects the limits of the only descriptor of a request by its turn, and reports whether
// a rule matched.
func (r *Result) follow(t *turn, entries []Entry) (matched bool) {
	rules := r.work.d.flat.rules
	for i := range t.steps {
		s := &t.steps[i]
		rule, places := &rules[s.rule], t.places[s.from:s.to]
		limits, _ := rule.chosen(entries, places)
		r.meetLimits(rule, limits, places, entries, 0)
	}
	return len(t.steps) > 0
}

// repeat makes the keys of the limits of the last Match, by the same turn, for another request.
func (r *Result) repeat(t *turn, entries []Entry) {
	w, met := r.work, r.Limits
	for i := range t.steps {
		s := &t.steps[i]
		rule, places := &w.d.flat.rules[s.rule], t.places[s.from:s.to]
		base := w.ruleBase(rule, places[len(rule.match):], entries)
		limits, _ := rule.chosen(entries, places)
		for range limits {
			met[0].base = base
			w.makeKey(&met[0])
			met = met[1:]
		}
	}
}

// isConstant reports whether limits are met by all descriptors that the rule matches, whatever
// other rules do, and without a penalty box.
func (r *flatRule) isConstant(limits []*Limit) bool {
	return r.rule.Penalty == nil &&
		!slices.ContainsFunc(limits, func(l *Limit) bool { return l.unlimited || len(l.replaces) > 0 })
}
