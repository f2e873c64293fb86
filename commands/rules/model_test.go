package rules

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/rules/source"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// The reference model: a rule set as plain structures, and a matcher that follows the words
// of the docs without an index, a table or a shared buffer. modelSet.text renders the set.

type modelNode struct {
	key, value      string
	limits          []int // requests per hour; several are rate_limits
	unlimited       bool
	name            string
	replaces        []string
	shadow, quota   bool
	share, penalize bool
	below           []*modelNode
}

type modelRule struct {
	name          string
	match         map[string][]string
	per           []string
	tier          string
	tiers         map[string]int // limit of each tier an hour; 0: unlimited
	limits        []int          // N each N hours, so that names differ
	shadow, quota bool
	penalize      bool
	replaces      []string
}

type modelSet struct {
	direct              bool // requests have ways, without overrides
	nodes               []*modelNode
	rules               []*modelRule
	deny, allow         map[Attribute]bool
	denyRange           bool // attribute a in 10.0.0.0/8
	denyUnmatched       bool
	ignoreRequestLimits bool
	overrides           []*Override
}

// modelMet is a counter that the model finds.
type modelMet struct {
	key        string
	quota      int64
	mode       Mode
	guard      string
	descriptor int
	names      []string
	replaces   []string
	once       bool
	also       []int // further descriptors
}

// glob reports whether text matches a pattern with *, by trying every split.
func glob(pattern, text string) bool {
	before, after, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == text
	}
	if !strings.HasPrefix(text, before) {
		return false
	}
	for i := len(before); i <= len(text); i++ {
		if glob(after, text[i:]) {
			return true
		}
	}
	return false
}

func modelEscape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || strings.IndexByte("|=#%\x7f", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// way returns the nodes that attributes lead to, or nil.
func (m *modelSet) way(path []Attribute) (way []*modelNode) {
	level := m.nodes
	for _, a := range path {
		var next *modelNode
		for _, n := range level {
			if n.key == a.Key && n.value == a.Value && n.value != "" {
				next = n
			}
		}
		for _, n := range level {
			if next == nil && n.key == a.Key && strings.Contains(n.value, "*") && glob(n.value, a.Value) {
				next = n
			}
		}
		for _, n := range level {
			if next == nil && n.key == a.Key && n.value == "" {
				next = n
			}
		}
		if next == nil {
			return nil
		}
		way, level = append(way, next), next.below
	}
	return way
}

func first(path []Attribute, key string) (string, bool) {
	for _, a := range path {
		if a.Key == key {
			return a.Value, true
		}
	}
	return "", false
}

// gate is the step of deny and allow.
func (m *modelSet) gate(path []Attribute, now engine.Instant) Verdict {
	denied, allowed := false, false
	for _, a := range path {
		_, invalid := netip.ParseAddr(a.Value)
		denied = denied || m.deny[a] || m.denyRange && a.Key == "a" && (invalid != nil || strings.HasPrefix(a.Value, "10."))
		allowed = allowed || m.allow[a]
	}
	depth, effect := -1, Effect(0)
	for _, v := range m.overrides {
		if v.Effect == Replace || v.Until != 0 && now >= v.Until {
			continue
		}
		prefix := len(v.Path) <= len(path) && slices.Equal(v.Path, path[:min(len(v.Path), len(path))])
		anywhere := len(v.Path) == 1 && slices.Contains(path, v.Path[0]) || len(v.Path) > 1 &&
			!slices.ContainsFunc(v.Path, func(a Attribute) bool {
				value, there := first(path, a.Key)
				return !there || value != a.Value
			})
		if !prefix && !(len(m.rules) > 0 && anywhere) {
			continue
		}
		if len(v.Path) > depth || len(v.Path) == depth && v.Effect == Deny {
			depth, effect = len(v.Path), v.Effect
		}
	}
	switch {
	case denied || effect == Deny:
		return Denied
	case allowed || effect == Allow:
		return Allowed
	}
	return None
}

func (m *modelSet) override(rule string, path []Attribute, now engine.Instant) *Override {
	for _, v := range m.overrides {
		same := slices.Equal(v.Path, path)
		if rule != "" {
			a, b := slices.Clone(v.Path), slices.Clone(path)
			sort := func(x, y Attribute) int { return strings.Compare(x.Key, y.Key) }
			slices.SortStableFunc(a, sort)
			slices.SortStableFunc(b, sort)
			same = slices.Equal(a, b)
		}
		if v.Effect == Replace && v.Rule == rule && same && (v.Until == 0 || now < v.Until) {
			return v
		}
	}
	return nil
}

// alg and quota of the limits that random overrides have.
func modelLimit(v *Override) (alg string, quota int64) {
	alg = "SLIDE"
	if strings.HasSuffix(v.Limit, " fixed") {
		alg = "FIXED"
	}
	fmt.Sscan(v.Limit, &quota)
	return alg, quota
}

// tree returns the counters of the tree for a descriptor.
func (m *modelSet) tree(i int, path []Attribute, sent int,
	now engine.Instant) (found []modelMet, matched, unlimited bool) {
	way := m.way(path)
	if m.ignoreRequestLimits {
		sent = -1
	}
	base, shared := "rule:d", "rule:d"
	for j, a := range path {
		base += "|" + modelEscape(a.Key) + "=" + modelEscape(a.Value)
		value := a.Value
		if way != nil && way[j].share {
			value = way[j].value
		}
		shared += "|" + modelEscape(a.Key) + "=" + modelEscape(value)
	}
	var last *modelNode
	if way != nil {
		last = way[len(way)-1]
	}
	if way != nil && sent < 0 {
		base = shared
	}
	v := m.override("", path, now)
	switch {
	case v != nil && v.Limit == "unlimited":
		return m.silent(last, sent), true, true
	case v != nil:
		alg, quota := modelLimit(v)
		met := modelMet{key: base + "#" + alg, quota: quota, descriptor: i}
		if last != nil && len(last.limits)+b2i(last.unlimited) > 0 {
			last.describe(&met, base, sent)
		}
		return []modelMet{met}, true, false
	case sent >= 0:
		met := modelMet{key: base + "#FIXED:request-" + modelUnit(sent), quota: int64(sent), descriptor: i}
		if last != nil && len(last.limits) > 0 && modelUnit(sent) == "1h" {
			met.key = base + "#FIXED"
		}
		return []modelMet{met}, true, false
	case last == nil:
		return nil, false, false
	case last.unlimited:
		return m.silent(last, sent), true, true
	}
	for j, n := range last.limits {
		met := modelMet{key: base + "#FIXED", quota: int64(n), descriptor: i}
		if j > 0 {
			met.key += fmt.Sprintf(":%d", j+1)
		}
		last.describe(&met, base, sent)
		found = append(found, met)
	}
	return found, true, false
}

// modelUnit returns the window of a limit that comes with a request. Limits of nodes have an
// hour.
func modelUnit(sent int) string { return []string{"1h", "1d"}[sent%2] }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// silent returns a counter without a key, for the names that an unlimited node replaces.
func (m *modelSet) silent(n *modelNode, sent int) []modelMet {
	if n == nil || sent >= 0 {
		return nil
	}
	return []modelMet{{replaces: n.replaces}}
}

// describe sets the part of its counters that a node adds.
func (n *modelNode) describe(met *modelMet, base string, sent int) {
	met.mode = modeOf(n.shadow, n.quota)
	if n.name != "" {
		met.names = []string{n.name}
	}
	if sent < 0 {
		met.replaces = n.replaces
	}
	if n.penalize && met.mode == Enforced {
		met.guard = base + "#penalty"
	}
}

// flat returns the counters of a rule for a descriptor.
func (r *modelRule) flat(m *modelSet, i int, path []Attribute,
	now engine.Instant) (found []modelMet, matched, unlimited bool) {
	for key, values := range r.match {
		value, ok := first(path, key)
		if !ok || !slices.ContainsFunc(values, func(p string) bool { return glob(p, value) }) {
			return nil, false, false
		}
	}
	base := "rule:d|" + r.name
	var own []Attribute
	for _, key := range r.per {
		value, ok := first(path, key)
		if !ok {
			return nil, false, false
		}
		base += "|" + modelEscape(value)
		own = append(own, Attribute{key, value})
	}
	limits := r.limits
	if r.tier != "" {
		value, ok := first(path, r.tier)
		if !ok {
			return nil, false, false
		}
		n, ok := r.tiers[value]
		if !ok {
			if n, ok = r.tiers["default"]; !ok {
				return nil, false, false
			}
		}
		limits = []int{n}
	}
	whole := m.override(r.name, own, now)
	for j, n := range limits {
		label := fmt.Sprintf("slide-%dh", n)
		if n == 0 {
			label = "unlimited"
		}
		v := whole
		if v == nil {
			v = m.override(r.name+"/"+label, own, now)
		}
		met := modelMet{key: base + "#SLIDE:" + label, quota: int64(n), mode: modeOf(r.shadow, r.quota), descriptor: i,
			once:  true,
			names: []string{r.name, r.name + "/" + label}, replaces: r.replaces}
		if r.penalize && met.mode == Enforced {
			met.guard = base + "#penalty"
		}
		switch {
		case v != nil && v.Limit == "unlimited", v == nil && n == 0:
			unlimited = true
			found = append(found, modelMet{replaces: r.replaces})
			continue
		case v != nil:
			alg, quota := modelLimit(v)
			met.key, met.quota = base+"#"+alg+":"+label, quota
		}
		if whole == nil || j == 0 {
			found = append(found, met)
		}
	}
	return found, true, unlimited
}

// matchModel is Match.
func (m *modelSet) matchModel(paths [][]Attribute, sent []int,
	now engine.Instant) (verdict Verdict, each []Verdict, met []modelMet) {
	for _, path := range paths {
		each = append(each, m.gate(path, now))
	}
	if slices.Contains(each, Denied) {
		return Denied, each, nil
	}
	if !slices.ContainsFunc(each, func(v Verdict) bool { return v != Allowed }) {
		return Allowed, each, nil
	}
	var all []modelMet
	anyMatched := false
	for i, path := range paths {
		if each[i] == Allowed {
			continue
		}
		found, matched, unlimited := m.tree(i, path, sent[i], now)
		for _, r := range m.rules {
			more, ok, free := r.flat(m, i, path, now)
			matched, unlimited = matched || ok, unlimited || free
			for _, c := range more {
				at := slices.IndexFunc(all, func(o modelMet) bool { return o.once && o.key == c.key && c.key != "" })
				if at < 0 {
					found = append(found, c)
					continue
				}
				all[at].also = append(all[at].also, i)
			}
		}
		anyMatched = anyMatched || matched
		if unlimited {
			each[i] = Unlimited
		}
		all = append(all, found...)
	}
	var gone []string
	for _, c := range all {
		gone = append(gone, c.replaces...)
	}
	for _, c := range all {
		if c.key != "" && !slices.ContainsFunc(c.names, func(name string) bool { return slices.Contains(gone, name) }) {
			met = append(met, c)
			for _, d := range append(c.also, c.descriptor) {
				each[d] = Limited
			}
		}
	}
	switch {
	case len(met) > 0:
		return Limited, each, met
	case slices.Contains(each, Unlimited):
		return Unlimited, each, nil
	case !anyMatched && m.denyUnmatched:
		return Unmatched, each, nil
	}
	return None, each, nil
}

// TestModel compares Match with the model on random rule sets, overrides and requests.
func TestModel(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	verdicts, followed := map[Verdict]int{}, 0
	var r Result // of all sets, so that it knows ways of other sets
	for round := range 120 {
		m := randomSet(random)
		text := m.text()
		set, err := Load([]source.File{{Name: "f", Text: []byte(text)}})
		if err != nil {
			t.Fatalf("seed %d, round %d: %v\n%s", seed, round, err, text)
		}
		var overrides *Overrides
		if !m.direct || one(random, 4) {
			m.overrides, overrides = randomOverrides(t, random, m)
		}
		for range 50 {
			now := engine.Instant(random.IntN(4))
			paths, sent, q := randomRequest(random)
			verdict, each, met := m.matchModel(paths, sent, now)
			if err := set.Match(q, overrides, now, &r); err != nil {
				t.Fatalf("seed %d, round %d: %v\n%s", seed, round, err, text)
			}
			verdicts[verdict]++
			want, got := describeModel(verdict, each, met), describeResult(&r)
			if want != got {
				t.Fatalf("seed %d, round %d, %v sent %v at %d\n got %s\nwant %s\n%s%s", seed, round, paths, sent, now, got, want,
					text, listOverrides(m.overrides))
			}
			for n := 0; r.work.isDirect(q) && n < 2*maxUses+4; n++ { // its way is learned if it is asked again and again
				if err := set.Match(q, overrides, now, &r); err != nil {
					t.Fatal(err)
				}
				if got := describeResult(&r); got != want {
					t.Fatalf("seed %d, round %d, %v again\n got %s\nwant %s\n%s", seed, round, paths, got, want, text)
				}
				if n > 2*maxUses {
					y := r.work.wayOf(q.Descriptors[0].Entries)
					if y == nil || r.work.turnOf(y, q.Descriptors[0].Entries) == nil {
						t.Fatalf("seed %d, round %d: no way and turn of %v\n%s", seed, round, paths, text)
					}
					if verdict == Limited {
						followed++
					}
				}
			}
			if random.IntN(3) == 0 {
				r.Release()
			}
		}
	}
	if followed == 0 {
		t.Errorf("seed %d: no limits were found along a way", seed)
	}
	for v := Limited; v <= Unmatched; v++ {
		if verdicts[v] == 0 {
			t.Errorf("seed %d: no request was %v", seed, v)
		}
	}
}

func describeModel(verdict Verdict, each []Verdict, met []modelMet) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v", verdict, each)
	for _, c := range met {
		fmt.Fprintf(&b, "\n  %s %d %v %d %v %s", c.key, c.quota, c.mode, c.descriptor, c.also, c.guard)
	}
	return b.String()
}

func describeResult(r *Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v %v", r.Verdict, r.Descriptors)
	for i := range r.Limits {
		m := &r.Limits[i]
		guard := ""
		if m.Guard >= 0 {
			guard = string(r.Guards[m.Guard].Key)
		}
		var also []int
		for _, s := range r.Shared {
			if s.Limit == i {
				also = append(also, s.Descriptor)
			}
		}
		fmt.Fprintf(&b, "\n  %s %d %v %d %v %s", m.Key, m.Limit.Quota, m.Mode, m.Descriptor, also, guard)
	}
	return b.String()
}

func listOverrides(all []*Override) (text string) {
	for _, v := range all {
		text += fmt.Sprintf("%v %v %q %q until %d\n", v.Effect, v.Path, v.Limit, v.Rule, v.Until)
	}
	return text
}
