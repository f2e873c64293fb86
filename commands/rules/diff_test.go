package rules

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// TestRandomCompare compares random sets with a comparison that looks at all old limits for
// each new limit.
func TestRandomCompare(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 500 {
		var old, next []string // the names of rules, in their order
		for i := range r.IntN(8) {
			old = append(old, fmt.Sprintf("r%d", i))
		}
		for _, name := range old {
			switch r.IntN(8) {
			case 0: // it is removed
			case 1:
				next = append(next, name, "after-"+name)
			default:
				next = append(next, name)
			}
		}
		if r.IntN(4) == 0 {
			r.Shuffle(len(next), func(i, j int) { next[i], next[j] = next[j], next[i] })
		}
		from, to := load(t, randomRules(r, old)), load(t, randomRules(r, next))
		want, kept := sameLimits(from, to)
		d := Compare(from, to)
		if !slices.Equal(d.From, want) {
			t.Fatalf("from %v to %v: %v, want %v", old, next, d.From, want)
		}
		var removed, gone []string
		for _, change := range d.Changes {
			if change.Kind == Removed {
				removed = append(removed, change.Name)
			}
		}
		for i, l := range from.limits {
			if !kept[i] {
				gone = append(gone, l.Name)
			}
		}
		if !slices.Equal(removed, gone) {
			t.Fatalf("from %v to %v: removed %v, want %v", old, next, removed, gone)
		}
	}
}

// randomRules are rules with names, each with some limits, in tiers or not.
func randomRules(r *rand.Rand, names []string) string {
	var b strings.Builder
	b.WriteString("domain: api\nrules:\n")
	limits := func() string {
		all := []string{"1/s", "1/m", "1/h name x", "1/day", "2/m log"}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return "[" + strings.Join(all[:1+r.IntN(3)], ", ") + "]"
	}
	for _, name := range names {
		if r.IntN(3) == 0 {
			fmt.Fprintf(&b, "  - {name: %s, tier: plan, limits: {free: %s, pro: %s}}\n", name, limits(), limits())
		} else {
			fmt.Fprintf(&b, "  - {name: %s, limits: %s}\n", name, limits())
		}
	}
	return b.String()
}

// sameLimits returns Diff.From, and the old limits that have a new limit.
func sameLimits(from, to *Set) (same []int, kept []bool) {
	same, kept = make([]int, len(to.limits)), make([]bool, len(from.limits))
	for i := range same {
		same[i] = -1
	}
	for _, byLabel := range []bool{true, false} {
		for i, l := range to.limits {
			for j, o := range from.limits {
				if same[i] < 0 && !kept[j] && o.group() == l.group() && (!byLabel || o.Label == l.Label) {
					same[i], kept[j] = j, true
				}
			}
		}
	}
	return same, kept
}
