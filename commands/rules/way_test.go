package rules

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"limitsrv/commands/rules/source"
	"limitsrv/internal/testing/testwait"
)

// wayRules are rules that are all tried; rules of some domains meet the same limits again.
const wayRules = `
domain: plain
rules: [{name: a, per: [k, l], limits: [1/s, 2/m]}, {name: b, per: [k], limits: [3/h]}, {name: c, limits: [4/d]}]
---
domain: match
rules: [{name: a, match: {k: [x, y*]}, per: [k], limits: [1/s]}, {name: b, per: [l], limits: [3/h]}]
---
domain: tier
rules: [{name: a, per: [k], tier: l, limits: {x: [1/s], y: [2/s, 3/m], z: unlimited}}]
---
domain: replaces
rules: [{name: a, per: [k], limits: [1/s]}, {name: b, match: {l: x}, per: [l], limits: [3/h], replaces: [a]}, {name: c, per: [l], limits: [3/h], replaces: [a]}]
---
domain: replaced
rules: [{name: a, per: [k], limits: [1/s]}, {name: b, per: [k], limits: [3/h], replaces: [a]}]
---
domain: box
rules: [{name: a, per: [k], limits: [1/s], penalty: {after: 1, within: 1m, block: 1m}}]
---
domain: unlimited
rules: [{name: a, per: [k], limits: unlimited}, {name: b, per: [l], limits: [3/h]}]
`

// TestRepeated matches requests with a Result that is used again, which may repeat the last
// result, and with a new Result.
func TestRepeated(t *testing.T) {
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	text := wayRules + "---\ndomain: many\nrules:\n"
	for i := range 40 {
		text += fmt.Sprintf("  - {name: r%d, match: {k: v%d}, per: [l], limits: [1/s]}\n", i, i)
	}
	set, err := Load([]source.File{{Name: "rules.yaml", Text: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	show := func(r *Result) (s string) {
		s = fmt.Sprint(r.Verdict, r.Matched, r.Domain.Name, r.Shared, r.Descriptors)
		for i := range r.Limits {
			m := &r.Limits[i]
			s += fmt.Sprintf("\n%s %s %v %d %d %d", m.Key, m.Name(), m.Mode, m.Index, m.Descriptor, m.Guard)
		}
		for i := range r.Guards {
			s += fmt.Sprintf("\n%s", r.Guards[i].Key)
		}
		return s
	}
	var again Result
	repeated := map[string]int{}
	domain := "plain"
	for range 20_000 {
		if random.IntN(4) == 0 {
			domain = set.Domains()[random.IntN(len(set.Domains()))].Name
		}
		q := Request{Domain: []byte(domain), Descriptors: make([]Descriptor, 1)}
		for _, key := range [][]string{{"k"}, {"l"}, {"k", "l"}, {"k", "l"}, {"k", "l"}, {"l", "k"},
			{"k", "l", "m"}}[random.IntN(7)] {
			value := []string{"x", "y", "z", "y|1", "", "long value"}[random.IntN(6)]
			switch random.IntN(200) {
			case 0:
				value = strings.Repeat(value, 120)
			case 1:
				key += strings.Repeat("k", random.IntN(250))
			}
			if domain == "many" {
				value = fmt.Sprintf("v%d", random.IntN(400))
			}
			q.Descriptors[0].Entries = append(q.Descriptors[0].Entries, Entry{[]byte(key), []byte(value)})
		}
		var fresh Result
		wrong, alsoWrong := set.Match(&q, nil, 0, &fresh), set.Match(&q, nil, 0, &again)
		if fmt.Sprint(wrong) != fmt.Sprint(alsoWrong) {
			t.Fatalf("seed %d: error %v, want %v", seed, alsoWrong, wrong)
		}
		if wrong != nil {
			continue
		}
		if got, want := show(&again), show(&fresh); got != want {
			t.Fatalf("seed %d: %s %s, repeated: %v\n got %s\nwant %s", seed, domain, q.Descriptors[0].Entries, again.Repeated,
				got, want)
		}
		if again.Repeated {
			repeated[domain]++
		}
		if random.IntN(50) == 0 {
			again.Release()
		}
	}
	if repeated["plain"] == 0 || repeated["match"] == 0 || repeated["box"] > 0 {
		t.Errorf("seed %d: repeated %v", seed, repeated)
	}
}
