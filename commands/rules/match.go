package rules

import (
	"bytes"
	"fmt"
	"slices"

	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// maxMet bounds the limits that a Match collects before names are replaced.
const maxMet = 1024

// A work is the working memory of the Matches of a Result. The zero value is ready.
type work struct {
	set       *Set    // that d was found in
	d         *Domain // nil: unknown
	domain    []byte
	overrides *Overrides
	counts    *domainOverrides // nil without overrides of the domain
	now       engine.Instant   // as domain and overrides, undefined without these
	canon     canon            // of the last request
	keys      []byte           // of all Matches since the last Release
	givens    []given          // of the entries of all descriptors; empty without d
	parts     []part           // of givens, of the descriptors; empty without d
	places    []uint8          // of a rule that is tried
	ways      []way
	way       *way // found last; nil: no way
	turns     []turn
	made      uint32   // the number of the last way
	last      *turn    // of the last Match, if the next Match may have the same limits; else nil
	path      []int32  // nodes that a descriptor leads to
	found     []int32  // candidate rules of a descriptor
	moved     []int    // new indexes of limits, while names are replaced; -1: dropped
	replaced  []uint64 // flags of names
	numbers   []int32  // the names in replaced
	probe     []byte   // key of an override
	sent      []*Limit // made of limits that came with requests, since the last Release
	sentUsed  int
	beyond    int // limits beyond maxMet
}

func (s *Set) match(q *Request, o *Overrides, now engine.Instant, r *Result) error {
	if r.work == nil {
		r.work = new(work)
	}
	w := r.work
	if w.d == nil || w.set != s || w.d.Name != string(q.Domain) {
		w.set, w.d = s, s.domains[string(q.Domain)]
	}
	if w.counts = o.domain(q.Domain); w.counts != nil {
		w.now, w.domain, w.overrides = now, q.Domain, o
	}
	weighs := len(q.Amounts) > 0
	if weighs {
		if err := w.d.checkAmounts(q.Amounts); err != nil {
			return err
		}
	}
	direct := w.isDirect(q)
	var t *turn
	var entries []Entry // in canonical form, if there is a way
	r.BadAddresses = 0
	if direct {
		if y := w.wayOf(q.Descriptors[0].Entries); y != nil {
			if entries = q.Descriptors[0].Entries; len(y.forms) > 0 {
				entries = w.canon.along(entries, y.forms)
				r.BadAddresses = w.canon.bad
			}
			t = w.turnOf(y, entries)
		}
	}
	if r.Repeated = t != nil && t == w.last && !weighs; r.Repeated {
		r.repeat(t, entries)
		return nil
	}
	w.last = nil
	r.reset()
	if t != nil {
		return r.take(q, t, entries)
	}
	if err := q.check(); err != nil {
		return err
	}
	q = r.canonical(q)
	w.give(q)
	for range q.Descriptors {
		r.Descriptors = append(r.Descriptors, None)
	}
	if w.isGated() && r.gatekeep(q) {
		return nil
	}
	for i := range q.Descriptors {
		if r.Descriptors[i] != Allowed {
			r.Matched = r.meet(q, i) || r.Matched
		}
	}
	err := r.conclude(q)
	if err == nil && direct {
		w.learn(q)
	}
	return err
}

// canonical returns q with its values in canonical form.
func (r *Result) canonical(q *Request) *Request {
	w := r.work
	if w.d == nil && w.counts == nil {
		return q
	}
	q = w.canon.of(w.d, q)
	if r.BadAddresses = w.canon.bad; w.d == nil {
		r.BadAddresses = 0
	}
	return q
}

// reset empties the Result for a request in domain w.d.
func (r *Result) reset() {
	w := r.work
	r.Verdict, r.Matched, r.Domain = None, false, w.d
	r.Limits, r.Shared, r.Guards, r.Descriptors = r.Limits[:0], r.Shared[:0], r.Guards[:0], r.Descriptors[:0]
	w.beyond, w.numbers = 0, w.numbers[:0]
}

// take matches the only descriptor of a request by its turn.
func (r *Result) take(q *Request, t *turn, entries []Entry) error {
	r.Descriptors = append(r.Descriptors, None)
	r.Matched = r.follow(t, entries)
	err := r.conclude(q)
	if err == nil && t.constant && r.Verdict == Limited && len(q.Amounts) == 0 {
		r.work.last = t
	}
	return err
}

// conclude weighs the amounts of a request after its limits were collected, sets its verdicts, and adds
// the penalty boxes of enforced limits.
func (r *Result) conclude(q *Request) error {
	unlimited := slices.Contains(r.Descriptors, Unlimited)
	if len(r.work.numbers) > 0 {
		r.dropReplaced()
	}
	if len(q.Amounts) > 0 {
		if err := r.weigh(q); err != nil {
			return err
		}
	}
	if n := len(r.Limits) + r.work.beyond; n > engine.MaxGroup {
		return fmt.Errorf("more than %d limits apply: %d", engine.MaxGroup, n)
	}
	for i := range r.Limits {
		m := &r.Limits[i]
		r.Descriptors[m.Descriptor] = Limited
		if takes := len(q.Amounts) == 0 || m.Hits != 0; takes && m.Rule.Penalty != nil && m.Mode == Enforced {
			r.guard(m)
		}
	}
	for _, s := range r.Shared {
		r.Descriptors[s.Descriptor] = Limited
	}
	switch {
	case len(r.Limits) > 0:
		r.Verdict = Limited
	case unlimited:
		r.Verdict = Unlimited
	case !r.Matched && r.Domain != nil && r.Domain.DenyUnmatched:
		r.Verdict = Unmatched
	}
	return nil
}

// A part is the part of a descriptor in work.givens.
type part struct {
	first   int
	present uint64 // bit n: the attribute with number n is there; for numbers below 64
}

// give sets the givens of all entries.
func (w *work) give(q *Request) {
	w.givens, w.parts = w.givens[:0], w.parts[:0]
	if w.d == nil {
		return
	}
	for i := range q.Descriptors {
		first, entries := len(w.givens), q.Descriptors[i].Entries
		w.givens = slices.Grow(w.givens, len(entries))[:first+len(entries)]
		present := uint64(0)
		for j, givens := 0, w.givens[first:]; j < len(givens); j++ {
			w.d.give(&givens[j], &entries[j])
			present |= bitOf(givens[j].number)
		}
		w.parts = append(w.parts, part{first, present})
	}
}

// attributes returns the attributes of a descriptor.
func (w *work) attributes(q *Request, descriptor int) attributeSet {
	s := attributeSet{entries: q.Descriptors[descriptor].Entries}
	if w.d != nil {
		p := &w.parts[descriptor]
		s.givens, s.present = w.givens[p.first:p.first+len(s.entries)], p.present
	}
	return s
}

// isGated reports whether there may be lists or overrides that deny or allow.
func (w *work) isGated() bool { return w.counts != nil || w.d != nil && !w.d.lists.isEmpty() }

// gatekeep applies the lists and the overrides that deny or allow, and reports whether they
// decide the request.
func (r *Result) gatekeep(q *Request) (decided bool) {
	denied, allowed := false, 0
	for i := range q.Descriptors {
		v := r.work.gate(q, i)
		r.Descriptors[i] = v
		denied = denied || v == Denied
		if v == Allowed {
			allowed++
		}
	}
	switch {
	case denied:
		r.Verdict = Denied
	case allowed == len(q.Descriptors):
		r.Verdict = Allowed
	default:
		return false
	}
	return true
}

// gate returns Denied, Allowed or None for a descriptor.
func (w *work) gate(q *Request, descriptor int) Verdict {
	var flags int32
	if w.d != nil && !w.d.lists.isEmpty() {
		s := w.attributes(q, descriptor)
		for i := range s.entries {
			flags |= w.d.listed(&s.entries[i], &s.givens[i])
		}
	}
	override := w.gateOverride(q.Descriptors[descriptor].Entries)
	switch {
	case flags&listDenies != 0 || override == Deny:
		return Denied
	case flags&listAllows != 0 || override == Allow:
		return Allowed
	}
	return None
}

// meet collects the limits of a descriptor, sets its verdict if it is Unlimited, and reports
// whether a node or a rule matched.
func (r *Result) meet(q *Request, i int) (matched bool) {
	w := r.work
	if w.counts != nil || q.Descriptors[i].Limit != nil || w.d != nil && !w.d.tree.isEmpty() {
		matched = r.meetTree(q, i)
	}
	if w.d != nil && len(w.d.flat.rules) > 0 {
		matched = r.meetRules(q, i) || matched
	}
	return matched
}

// maxShared bounds Result.Shared: more can only be there if names are replaced.
const maxShared = engine.MaxGroup * MaxDescriptors

// next appends a Met to the limits, to be filled and kept by add. Of its fields Limit, Rule, Mode,
// Index, Descriptor, base and set are undefined.
func (r *Result) next() *Met {
	n := len(r.Limits)
	if n == cap(r.Limits) {
		r.Limits = append(r.Limits, Met{})
	} else {
		r.Limits = r.Limits[:n+1]
	}
	m := &r.Limits[n]
	m.Override, m.Label, m.Guard = nil, nil, -1
	return m
}

// add adds the last of the limits, which next has appended. If it is of a rule, and another
// descriptor met its counter through a rule, it is taken away again, and the descriptor shares
// that. Requires: the fields that next says are set.
func (r *Result) add() {
	w, last := r.work, len(r.Limits)-1
	m := &r.Limits[last]
	before := len(w.keys)
	w.makeKey(m)
	at := -1
	if m.Descriptor > 0 && !m.Rule.Tree { // the limits of one descriptor have different counters
		at = r.find(m, last)
	}
	switch {
	case at < 0 && last < maxMet:
		return
	case at < 0:
		w.beyond++
	case len(r.Shared) < maxShared:
		r.Shared = append(r.Shared, Shared{Limit: at, Descriptor: m.Descriptor})
	}
	w.keys, r.Limits = w.keys[:before], r.Limits[:last]
}

// makeKey sets the key of a limit. If it is the first of a base, it is made there, unless it may be
// too long.
func (w *work) makeKey(m *Met) {
	keys, start, suffix := w.keys, m.base.start, m.suffix()
	if suffix == "" || m.base.end-start+len(suffix) > engine.MaxKeyBytes {
		w.makeRareKey(m, suffix)
		return
	}
	if m.base.end != len(keys) {
		start = len(keys)
		keys = append(keys, keys[m.base.start:m.base.end]...)
	}
	w.keys = append(keys, suffix...)
	m.Key = w.keys[start:len(w.keys):len(w.keys)]
}

// makeRareKey sets the key of a limit that may be too long, or that has no suffix yet.
func (w *work) makeRareKey(m *Met, suffix string) {
	start := len(w.keys)
	keys := append(w.keys, w.bytes(m.base)...)
	switch {
	case suffix != "":
		keys = append(keys, suffix...)
	case m.Override == nil: // it came with the request
		keys = appendWindow(append(keys, sentSuffix...), engine.NoCalendar, m.Limit.Window)
	default:
		keys = append(append(append(keys, '#'), m.Limit.Params.Alg.String()...), ':')
		keys = appendEscaped(keys, m.set.Label)
	}
	w.keys = shorten(keys, start)
	m.Key = w.keys[start:len(w.keys):len(w.keys)]
}

// suffix returns the suffix of the key of a limit, or "" if it must be made: for a limit that came
// with the request, and for an override that has another algorithm than the limit of the rule.
func (m *Met) suffix() string {
	switch {
	case m.Override == nil || m.set == nil || m.Rule.Tree:
		return m.Limit.suffix
	case m.Limit.Params.Alg == m.set.Params.Alg: // use stays used
		return m.set.suffix
	}
	return ""
}

// find returns the index of the limit of a rule with the key of m, of the first n, or -1.
func (r *Result) find(m *Met, n int) int {
	for i := range r.Limits[:n] {
		if o := &r.Limits[i]; !o.Rule.Tree && bytes.Equal(o.Key, m.Key) {
			return i
		}
	}
	return -1
}

// guard sets the penalty box of a limit, which it adds if it is new.
func (r *Result) guard(m *Met) {
	w := r.work
	for j := range r.Guards {
		if g := &r.Guards[j]; g.Rule == m.Rule && bytes.Equal(w.bytes(g.base), w.bytes(m.base)) {
			m.Guard = j
			return
		}
	}
	m.Guard = len(r.Guards)
	start := len(w.keys)
	w.keys = append(w.keys, w.bytes(m.base)...)
	w.keys = shorten(append(w.keys, penaltySuffix...), start)
	r.Guards = append(r.Guards,
		Guard{Rule: m.Rule, Descriptor: m.Descriptor, Key: w.keys[start:len(w.keys):len(w.keys)], base: m.base})
}

func (w *work) bytes(s span) []byte { return w.keys[s.start:s.end] }

// sentSuffix is the start of the suffix of the keys of limits that come with requests and have a
// counter of their own. Their window follows.
var sentSuffix = "#" + engine.Fixed.String() + ":request-"

// sentLimit returns a limit that came with a request. Its key has no suffix yet.
func (w *work) sentLimit(from *RequestLimit) *Limit {
	if w.sentUsed == len(w.sent) {
		w.sent = append(w.sent, new(Limit))
	}
	l := w.sent[w.sentUsed]
	w.sentUsed++
	*l = Limit{
		Params: engine.Params{Alg: engine.Fixed, Limit: max(1, int64(from.Count)), Period: from.Period},
		Quota:  int64(from.Count), Count: int64(from.Count), Window: from.Period,
		NearAbove: int64(from.Count) * source.DefaultWarnAt / 100, None: from.Count == 0,
		warnAt: source.DefaultWarnAt, Index: -1, Name: "request", Label: "request", names: [2]int32{-1, -1},
	}
	return l
}
