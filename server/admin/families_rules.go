package admin

import (
	"sync"

	"limitsrv/commands/rules/live"
)

// otherRules is the label of limits, values and domains without series of their own.
const otherRules = "other"

// ruleViews are the values about rules of a scrape.
type ruleViews struct {
	*live.State
	failed int64 // loads
	// ok and differs are RulesOK and RulesFileDiffers of the handler.
	ok, differs bool
	series      *ruleSeries
}

var ruleFamilies = []family{
	{"rules_version", "Version of the rules in use on this node; 0: no rules were loaded.", gauge, nil, nil,
		integer(func(v *view) uint64 { return v.rules.Header.Version })},
	{"rules_loaded_timestamp_seconds", "Time of the load of the rules in use, since 1970; 0: no rules were loaded.", gauge,
		nil, nil, float(func(v *view) float64 { return float64(v.rules.Header.Loaded) / 1e9 })},
	{"rules_ok", "0 if the last reading of the files of --rules failed, if they differ from the rules in use, or if " +
		"this version of limitsrv can't compile the rules, else 1.", gauge, nil, nil,
		boolean(func(v *view) bool { return v.rules.ok })},
	{"rules_file_differs", "1 while the files of --rules have another text than the rules in use, for example an " +
		"earlier one after a rollback, else 0.", gauge, nil, nil, boolean(func(v *view) bool { return v.rules.differs })},
	{"rules_load_errors_total", "Loads of rules that failed on this node, by command or from a file.", counter, nil, nil,
		integer(func(v *view) int64 { return v.rules.failed })},
	{"rules_shadow", "1 with --rules-shadow, so that rules deny nothing, else 0.", gauge, nil, nil,
		boolean(func(v *view) bool { return v.rules.Shadow })},
	{"rules", "Rules in use, nodes of trees included.", gauge, nil, nil,
		integer(func(v *view) int { return v.rules.Set.NumRules() })},
	{"overrides", "Overrides, including expired overrides not yet removed.", gauge, nil, nil,
		integer(func(v *view) int { return v.rules.Overrides.Len() })},
	{"rule_decisions_total", "Requests that this node answered by rules, by limit, tier and result: allowed, limited, " +
		"near, grace, shadow_limited or blocked. With value_to_metric or detailed_metric the rule has the values of the " +
		"request; those beyond --rules-metric-series are the rule other of the domain. " +
		"Limits that were never met are left out; those beyond --rules-metric-series are counted together, as the domain " +
		"other.",
		counter, []string{"domain", "rule", "limit", "tier", "result"}, nil, emitRules},
	{"rule_unmatched_total", "Requests to this node that no rule matched, by domain; those for domains without rules " +
		"are the domain other.", counter, []string{"domain"}, nil, func(v *view, value func(float64, ...string)) {
		sums := map[string]int64{otherRules: v.rules.Unmatched(nil)}
		for _, d := range v.rules.Set.Domains() {
			sums[printed(d.Name)] += v.rules.Unmatched(d)
		}
		for domain, n := range sums {
			value(float64(n), domain)
		}
	}},
	{"penalties_total", "Penalty boxes that requests to this node closed.", counter, nil, nil,
		integer(func(v *view) int64 { return v.rules.Penalties() })},
	{"rule_bad_addresses_total", "Attributes of requests to this node that must be addresses by the rules and can't be " +
		"parsed.", counter, nil, nil, integer(func(v *view) int64 { return v.rules.BadAddresses() })},
}

// ruleLabels name the series of a limit.
type ruleLabels struct{ domain, rule, limit, tier string }

// A ruleSeries remembers the limits that have series of their own, so that no limit loses
// its series to another limit while the rules stay. Concurrency: any goroutine may use it.
type ruleSeries struct {
	mu      sync.Mutex
	version uint64 // of the rules
	named   map[ruleLabels]bool
}

// names returns labels, or the labels of all other limits if more series than most would be
// named. Requires: mu is held.
func (r *ruleSeries) names(l ruleLabels, most int) ruleLabels {
	switch {
	case r.named[l]:
	case len(r.named) >= most:
		return ruleLabels{otherRules, otherRules, otherRules, ""}
	default:
		r.named[l] = true
	}
	return l
}

// sums returns the counters of the limits that were met, by series.
func (r *ruleSeries) sums(s *live.State) map[ruleLabels]*[live.Outcomes]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named == nil || r.version != s.Header.Version {
		r.named, r.version = make(map[ruleLabels]bool), s.Header.Version
	}
	all := make(map[ruleLabels]*[live.Outcomes]int64)
	for l := range s.Set.Limits("", 0) {
		valued := l.DetailedMetric || l.ValueMetric != 0
		s.Series(l.Index, func(label string, counts [live.Outcomes]int64) {
			if counts == [live.Outcomes]int64{} {
				return
			}
			labels := ruleLabels{printed(l.Rule.Domain.Name), printed(l.Rule.Name), printed(l.Label), printed(l.Tier)}
			if label != "" {
				labels.rule = printed(label)
			} else if valued {
				labels.rule = otherRules
			}
			labels = r.names(labels, s.MaxSeries())
			sum := all[labels]
			if sum == nil {
				sum = new([live.Outcomes]int64)
				all[labels] = sum
			}
			for o, n := range counts {
				sum[o] += n
			}
		})
	}
	return all
}

// emitRules emits the counters of the limits that were met.
func emitRules(v *view, value func(float64, ...string)) {
	for labels, sum := range v.rules.series.sums(v.rules.State) {
		for o, n := range sum {
			value(float64(n), labels.domain, labels.rule, labels.limit, labels.tier, live.Outcome(o).String())
		}
	}
}

// printed returns a text as the value of a label.
func printed(text string) string { return printable([]byte(text), 0) }
