package rules

import "encoding/binary"

// A turn is the part of a way that depends on values: the rules that a descriptor matches, with
// their places in it.
type turn struct {
	way  uint32 // its number; 0: no way
	uses uint8  // see isWorn
	// constant is set if all descriptors with the turn meet the same limits: see Result.Repeated.
	constant bool
	values   []byte // the values that decide, each after its length in two bytes
	steps    []step
	places   []uint8 // of all steps
}

// A step is a rule of a turn.
type step struct {
	rule     int32  // in flat.rules
	from, to uint16 // its part of places, as resolve makes it
}

const (
	// turns is the number of turns that a work knows, a power of two. A turn is in one of two
	// neighbouring slots.
	turns = 256
	// maxTurnValues bounds the bytes of the values of a turn, and maxSteps its rules.
	maxTurnValues = 512
	maxSteps      = 64
)

// turnSlot returns the number of the first slot for the turn of a descriptor with a way. It reads
// at most the first and the last eight bytes of a value.
func (y *way) turnSlot(entries []Entry) uint64 {
	const mixer = 0x9e3779b97f4a7c15
	h := uint64(y.number)
	for _, at := range y.deciding {
		value := entries[at].Value
		h += uint64(len(value)) << 56
		if last := len(value) - 8; last >= 0 {
			h = (h ^ binary.LittleEndian.Uint64(value) ^ binary.LittleEndian.Uint64(value[last:])<<1) * mixer
			h ^= h >> 32
			continue
		}
		for _, c := range value {
			h = h<<8 | h>>56 ^ uint64(c)
		}
		h *= mixer
		h ^= h >> 32
	}
	return h * mixer >> 32 % turns
}

// turnOf returns the turn of a descriptor with a way, or nil if it is not known.
func (w *work) turnOf(y *way, entries []Entry) *turn {
	if len(y.deciding) == 0 {
		if y.only.way == 0 {
			return nil
		}
		return &y.only
	}
	if w.turns == nil {
		return nil
	}
	at := y.turnSlot(entries)
	for _, slot := range [...]uint64{at, at ^ 1} {
		if t := &w.turns[slot]; t.way == y.number && y.leads(t, entries) {
			t.uses = maxUses
			return t
		}
	}
	return nil
}

// leads reports whether a descriptor with the way has the values of a turn of the way.
func (y *way) leads(t *turn, entries []Entry) bool {
	rest := t.values
	for _, at := range y.deciding {
		value, n := entries[at].Value, int(binary.LittleEndian.Uint16(rest))
		if string(value) != string(rest[2:2+n]) {
			return false
		}
		rest = rest[2+n:]
	}
	return true
}

// learnTurn makes the turn of the descriptor that was matched last, which has a way, if there is
// room for it.
func (w *work) learnTurn(y *way, s *attributeSet) {
	t := &y.only
	if len(y.deciding) > 0 {
		if w.turns == nil {
			w.turns = make([]turn, turns)
		}
		at := y.turnSlot(s.entries)
		if t = &w.turns[at]; !isWorn(&t.uses) {
			if t = &w.turns[at^1]; !isWorn(&t.uses) {
				return
			}
		}
	}
	t.way, t.values, t.steps, t.places, t.constant = 0, t.values[:0], t.steps[:0], t.places[:0], true
	for _, at := range y.deciding {
		value := s.entries[at].Value
		if t.values = append(binary.LittleEndian.AppendUint16(t.values, uint16(len(value))),
			value...); len(t.values) > maxTurnValues {
			return
		}
	}
	for j := range w.tried() {
		if len(t.steps) == maxSteps {
			return
		}
		t.add(&w.d.flat.rules[j], j, s)
	}
	t.way, t.uses = y.number, maxUses
}

// tried yields the rules that the last descriptor was compared with.
func (w *work) tried() func(yield func(rule int32) bool) {
	return func(yield func(int32) bool) {
		n := len(w.d.flat.rules)
		if n > maxTried {
			n = len(w.found)
		}
		for j := range n {
			rule := int32(j)
			if len(w.d.flat.rules) > maxTried {
				rule = w.found[j]
			}
			if !yield(rule) {
				return
			}
		}
	}
}

// add adds rule j to the turn if the descriptor matches it.
func (t *turn) add(rule *flatRule, j int32, s *attributeSet) {
	from := len(t.places)
	places, ok := rule.resolve(s, t.places)
	if !ok {
		return
	}
	limits, ok := rule.limitsFor(s.entries, places[from:])
	if !ok {
		return
	}
	t.places, t.steps = places, append(t.steps, step{j, uint16(from), uint16(len(places))})
	t.constant = t.constant && rule.isConstant(limits)
}
