package rules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"limitsrv/engine"
)

// Small alphabets, so that random requests often meet random rules.
var (
	modelKeys     = []string{"a", "b", "c", "a|b"}
	modelValues   = []string{"x", "y", "xy", "xzy", "10.0.0.7", "|", "x#=%", "\x01"}
	modelPatterns = []string{"*", "x*", "*y", "x*y", "x*z*y", "**", "*z*"}
	modelNames    = []string{"n1", "n2", "n3"}
)

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

func one(random *rand.Rand, in int) bool { return random.IntN(in) == 0 }

func randomSet(random *rand.Rand) *modelSet {
	m := &modelSet{deny: map[Attribute]bool{}, allow: map[Attribute]bool{}, denyUnmatched: one(random, 2),
		ignoreRequestLimits: one(random, 4), denyRange: one(random, 8)}
	if one(random, 3) {
		return &modelSet{direct: true, denyUnmatched: m.denyUnmatched, rules: modelRules(random, 2*maxTried)}
	}
	if !one(random, 4) {
		m.nodes = randomNodes(random, 1)
	}
	m.rules = modelRules(random, 2*maxTried) // tried one by one, or looked up
	for range random.IntN(3) * random.IntN(2) {
		m.deny[Attribute{pick(random, modelKeys), pick(random, modelValues)}] = true
	}
	for range random.IntN(3) {
		m.allow[Attribute{pick(random, modelKeys), pick(random, modelValues)}] = true
	}
	return m
}

func modelRules(random *rand.Rand, below int) (all []*modelRule) {
	for i := range random.IntN(below) {
		all = append(all, randomRule(random, fmt.Sprintf("r%d", i)))
	}
	return all
}

func randomNodes(random *rand.Rand, depth int) (all []*modelNode) {
	seen := map[Attribute]bool{}
	for range 1 + random.IntN(6) {
		n := &modelNode{key: pick(random, modelKeys[:3])}
		switch random.IntN(3) {
		case 0:
			n.value = pick(random, modelValues)
		case 1:
			n.value, n.share = pick(random, modelPatterns), one(random, 2)
		}
		if seen[Attribute{n.key, n.value}] {
			continue
		}
		seen[Attribute{n.key, n.value}] = true
		switch random.IntN(5) {
		case 0:
			n.unlimited = true
		case 1:
		case 2:
			n.limits = []int{1 + random.IntN(9), random.IntN(9)}
		default:
			n.limits = []int{random.IntN(9)}
		}
		n.shadow, n.quota = one(random, 4), one(random, 4)
		n.penalize = one(random, 3) && len(n.limits) > 0
		if len(n.limits) > 0 || n.unlimited {
			randomReplaces(random, &n.name, &n.replaces)
		}
		if depth < 3 && one(random, 2) {
			n.below = randomNodes(random, depth+1)
		}
		all = append(all, n)
	}
	return all
}

func randomReplaces(random *rand.Rand, name *string, replaces *[]string) {
	if one(random, 3) {
		*name = pick(random, modelNames)
	}
	if r := pick(random, modelNames); one(random, 4) && r != *name {
		*replaces = []string{r}
	}
}

func randomRule(random *rand.Rand, name string) *modelRule {
	r := &modelRule{name: name, match: map[string][]string{}, shadow: one(random, 4), penalize: one(random, 3)}
	r.quota = !r.shadow && one(random, 4)
	for range random.IntN(3) {
		var values []string
		for range 1 + random.IntN(3) {
			if one(random, 3) {
				values = append(values, pick(random, modelPatterns))
			} else {
				values = append(values, pick(random, modelValues))
			}
		}
		r.match[pick(random, modelKeys)] = values
	}
	for _, key := range modelKeys {
		if one(random, 4) {
			r.per = append(r.per, key)
		}
	}
	random.Shuffle(len(r.per), func(i, j int) { r.per[i], r.per[j] = r.per[j], r.per[i] })
	if one(random, 3) {
		r.tier = pick(random, modelKeys)
		r.tiers = map[string]int{pick(random, modelValues): random.IntN(5)}
		if one(random, 2) {
			r.tiers["default"] = random.IntN(5)
		}
	} else if one(random, 5) {
		r.limits = []int{0}
	} else {
		r.limits = slices.Compact([]int{1 + random.IntN(5), 6 + random.IntN(2), 7})
	}
	if one(random, 4) {
		r.replaces = []string{pick(random, append([]string{"r0/slide-7h", "r1", "r2"}, modelNames...))}
		if r.replaces[0] == name {
			r.replaces = nil
		}
	}
	return r
}

func randomOverrides(t *testing.T, random *rand.Rand, m *modelSet) (all []*Override, o *Overrides) {
	for range random.IntN(8) {
		v := Override{Domain: "d", Effect: pick(random, []Effect{Allow, Deny, Replace, Replace, Replace}),
			Until: engine.Instant(random.IntN(4))}
		for range random.IntN(3) {
			v.Path = append(v.Path, Attribute{pick(random, modelKeys), pick(random, modelValues)})
		}
		if v.Effect != Replace && len(v.Path) == 0 && !one(random, 4) {
			continue
		}
		if v.Effect == Replace {
			v.Limit = pick(random, []string{"5/h", "6/h fixed", "unlimited"})
			if len(m.rules) > 0 && one(random, 2) || len(v.Path) == 0 {
				v.Rule = "r" + strconv.Itoa(random.IntN(5)) + pick(random, []string{"", "/slide-7h"})
				v.Path = nil
				if i := slices.IndexFunc(m.rules, func(r *modelRule) bool { return r.name == v.Rule[:2] }); i >= 0 {
					for _, key := range slices.Backward(m.rules[i].per) {
						v.Path = append(v.Path, Attribute{key, pick(random, modelValues[:3])})
					}
				}
			}
		}
		made, err := NewOverride(v)
		if err != nil {
			t.Fatal(err)
		}
		o = o.With(made)
		if one(random, 4) {
			o = o.Without(made)
		}
	}
	return o.List(""), o
}

func randomRequest(random *rand.Rand) (paths [][]Attribute, sent []int, q *Request) {
	q = &Request{Domain: []byte("d")}
	for range 1 + random.IntN(3) {
		var (
			path []Attribute
			d    Descriptor
		)
		for range 1 + random.IntN(4) {
			a := Attribute{pick(random, modelKeys), pick(random, append(modelValues, ""))}
			path = append(path, a)
			d.Entries = append(d.Entries, Entry{[]byte(a.Key), []byte(a.Value)})
		}
		n := -1
		if one(random, 8) {
			n = random.IntN(5)
			d.Limit = &RequestLimit{Count: uint32(n), Period: []int64{3600e9, 24 * 3600e9}[n%2]}
		}
		paths, sent, q.Descriptors = append(paths, path), append(sent, n), append(q.Descriptors, d)
	}
	return paths, sent, q
}

// text renders the set.
func (m *modelSet) text() string {
	var b strings.Builder
	b.WriteString("domain: d\n")
	if m.denyUnmatched {
		b.WriteString("unmatched: deny\n")
	}
	fmt.Fprintf(&b, "request_limits: %v\nlists:\n  ranges: {key: a, cidr: [10.0.0.0/8]}\n", !m.ignoreRequestLimits)
	used := map[string][]string{}
	if m.denyRange {
		used["deny"] = append(used["deny"], "ranges")
	}
	for word, list := range map[string]map[Attribute]bool{"deny": m.deny, "allow": m.allow} {
		i := 0
		for a := range list {
			name := fmt.Sprintf("%s%d", word, i)
			fmt.Fprintf(&b, "  %s: {key: %q, values: [%q]}\n", name, a.Key, a.Value)
			used[word] = append(used[word], name)
			i++
		}
	}
	for word, names := range used {
		fmt.Fprintf(&b, "%s: [%s]\n", word, strings.Join(names, ", "))
	}
	if len(m.nodes) > 0 {
		b.WriteString("descriptors:\n")
		writeNodes(&b, m.nodes, "  ")
	}
	if len(m.rules) > 0 {
		b.WriteString("rules:\n")
	}
	for _, r := range m.rules {
		r.write(&b)
	}
	return b.String()
}

const modelPenalty = "penalty: {after: 1, within: 1m, block: 1m}\n"

func writeNodes(b *strings.Builder, all []*modelNode, indent string) {
	for _, n := range all {
		fmt.Fprintf(b, "%s- key: %q\n", indent, n.key)
		in := indent + "  "
		fmt.Fprintf(b, "%svalue: %q\n%sshadow_mode: %v\n%squota_mode: %v\n%sshare_threshold: %v\n", in, n.value, in, n.shadow,
			in, n.quota, in, n.share)
		names := fmt.Sprintf("name: %q, replaces: [", n.name)
		for _, r := range n.replaces {
			names += fmt.Sprintf("{name: %q}", r)
		}
		names += "]"
		if n.unlimited {
			fmt.Fprintf(b, "%srate_limit: {unlimited: true, %s}\n", in, names)
		}
		if len(n.limits) > 0 {
			fmt.Fprintf(b, "%srate_limits:\n", in)
		}
		for _, l := range n.limits {
			fmt.Fprintf(b, "%s  - {unit: hour, requests_per_unit: %d, %s}\n", in, l, names)
		}
		if n.penalize {
			b.WriteString(in + modelPenalty)
		}
		if len(n.below) > 0 {
			fmt.Fprintf(b, "%sdescriptors:\n", in)
			writeNodes(b, n.below, in+"  ")
		}
	}
}

func (r *modelRule) write(b *strings.Builder) {
	fmt.Fprintf(b, "  - name: %s\n    shadow: %v\n    quota: %v\n", r.name, r.shadow, r.quota)
	b.WriteString("    match: {")
	for key, values := range r.match {
		fmt.Fprintf(b, "%q: [", key)
		for _, v := range values {
			fmt.Fprintf(b, "%q, ", v)
		}
		b.WriteString("], ")
	}
	b.WriteString("}\n    per: [")
	for _, key := range r.per {
		fmt.Fprintf(b, "%q, ", key)
	}
	b.WriteString("]\n    replaces: [" + strings.Join(r.replaces, ", ") + "]\n")
	if r.penalize {
		b.WriteString("    " + modelPenalty)
	}
	limit := func(n int) string {
		if n == 0 {
			return "unlimited"
		}
		return fmt.Sprintf("%d/%dh", n, n)
	}
	if r.tier == "" {
		b.WriteString("    limits:\n")
	} else {
		fmt.Fprintf(b, "    tier: %q\n    limits:\n", r.tier)
	}
	for _, n := range r.limits {
		b.WriteString("      - " + limit(n) + "\n")
	}
	for tier, n := range r.tiers {
		fmt.Fprintf(b, "      %q: %s\n", tier, limit(n))
	}
}
