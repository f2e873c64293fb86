package admin

import "limitsrv/ruleset"

// maxRuleSeries bounds the limits with series of their own. All others are counted together, as
// the domain other.
const maxRuleSeries = 1000

// otherRules is the label of the limits without series of their own.
const otherRules = "other"

// ruleViews are the values about rules of one scrape.
type ruleViews struct {
	*ruleset.State
	failed int64  // loads
	file   string // error of --rules
}

var ruleFamilies = []family{
	{"rules_version", "Version of the rules in use on this node; 0: none were loaded.", gauge, nil, nil, integer(func(v *view) uint64 { return v.rules.Header.Version })},
	{"rules_loaded_timestamp_seconds", "Time of the load of the rules in use, since 1970; 0: none were loaded.", gauge, nil, nil, float(func(v *view) float64 { return float64(v.rules.Header.Loaded) / 1e9 })},
	{"rules_ok", "0 if the last reading of the files of --rules failed, or if this version of limitsrv can't compile the rules, else 1.", gauge, nil, nil, boolean(func(v *view) bool { return v.rules.file == "" && v.rules.Err == nil })},
	{"rules_load_errors_total", "Loads of rules that failed on this node, by command or from a file.", counter, nil, nil, integer(func(v *view) int64 { return v.rules.failed })},
	{"rules", "Rules in use, nodes of trees included.", gauge, nil, nil, integer(func(v *view) int { return v.rules.Set.NumRules() })},
	{"overrides", "Overrides, including expired ones not yet removed.", gauge, nil, nil, integer(func(v *view) int { return v.rules.Overrides.Len() })},
	{"rule_decisions_total", "Requests that this node answered by rules, by limit and result: allowed, limited, near, grace, shadow_limited or blocked. Limits that were never met are left out; beyond 1000 they are counted together, as the domain other.",
		counter, []string{"domain", "rule", "limit", "result"}, nil, emitRules},
}

// ruleLabels name the series of a limit. Limits of tiers may have the same.
type ruleLabels struct{ domain, rule, limit string }

// emitRules emits the counters of the limits that were met.
func emitRules(v *view, value func(float64, ...string)) {
	sums := make(map[ruleLabels]*[ruleset.Outcomes]int64)
	for l := range v.rules.Set.Limits("", 0) {
		counts := v.rules.Counts(l.Index)
		if counts == [ruleset.Outcomes]int64{} {
			continue
		}
		labels := ruleLabels{printed(l.Rule.Domain.Name), printed(l.Rule.Name), printed(l.Label)}
		sum := sums[labels]
		if sum == nil && len(sums) >= maxRuleSeries {
			labels = ruleLabels{otherRules, otherRules, otherRules}
			sum = sums[labels]
		}
		if sum == nil {
			sum = new([ruleset.Outcomes]int64)
			sums[labels] = sum
		}
		for o, n := range counts {
			sum[o] += n
		}
	}
	for labels, sum := range sums {
		for o, n := range sum {
			value(float64(n), labels.domain, labels.rule, labels.limit, ruleset.Outcome(o).String())
		}
	}
}

// printed returns a text as the value of a label.
func printed(text string) string { return printable([]byte(text), 0) }
