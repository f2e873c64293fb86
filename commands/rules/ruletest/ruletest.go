// Package ruletest tests rules: it decides the requests of scenarios on an engine with a clock
// of its own, and compares the answers with those that the scenarios expect.
//
//	text -> source.ParseCases -> []source.Scenario -> Run -> Result
package ruletest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"limitsrv/commands/reservations"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/weighing"
	"limitsrv/engine"
)

// A Result has the differences between the answers to scenarios and the expected answers.
type Result struct {
	Requests int
	Values   int // compared
	// Different is the number of differences: values and errors of requests. One value that is
	// expected of all requests of a step differs once for each run of equal answers.
	Different int
	// Differences are the first of these, at most source.MaxMistakes, in the order of the
	// requests, each at the line of the expected value or of the step.
	Differences []source.Mistake
	// Warnings are of steps whose first request meets no limit and passes, although they expect neither a
	// rule nor a reason: a domain or an attribute may be mistyped. There are at most source.MaxMistakes.
	Warnings []source.Mistake
}

// Run decides the requests of scenarios. Each scenario begins without counters.
func Run(set *rules.Set, scenarios []source.Scenario) *Result {
	r := runner{set: set, result: &Result{}}
	for i := range scenarios {
		start := engine.Instant(scenarios[i].Start.UnixNano())
		r.simulator = checks.NewSimulator(set, start)
		for j := range scenarios[i].Steps {
			step := &scenarios[i].Steps[j]
			r.simulator.Now = start + engine.Instant(step.Since)
			switch {
			case step.Override != nil:
				r.override(step)
			case step.Settlement != nil:
				r.settle(step)
			default:
				r.run(step)
			}
		}
	}
	return r.result
}

// A runner runs the steps of scenarios.
type runner struct {
	set       *rules.Set
	simulator *checks.Simulator
	request   checks.Request
	result    *Result
	// Of the request before in the step: its error, or else the fields for each expectation; at
	// first the expected fields.
	failure string
	seen    []string
}

// run decides the requests of a step.
func (r *runner) run(s *source.Step) {
	q := &r.request
	q.Reset([]byte(s.Domain))
	q.Hits, q.Settle, q.ID, q.Peek = s.Hits, s.Settle, []byte(s.ID), s.Peek
	if q.Used = s.Used; s.Reserve != nil {
		q.Reserve = []byte(s.Reserve.ID)
		q.Terms = reservations.Terms{TTL: int64(s.Reserve.TTL), Keep: keep(s.Reserve.Keep, 0), Partial: s.Reserve.Partial}
	}
	q.Amounts = amountsOf(s.Amounts)
	for _, attributes := range s.Descriptors {
		d := q.AddDescriptor()
		for _, a := range attributes {
			d.Entries = append(d.Entries, rules.Entry{Key: []byte(a.Key), Value: []byte(a.Value)})
		}
	}
	r.begin(s)
	for n := range s.Times {
		r.result.Requests++
		a, err := r.simulator.Ask(q)
		if n == 0 && err == nil && !expectsError(s) && a.Reason == checks.None {
			r.warnUnlimited(s)
		}
		r.answered(s, n, "request", err, func(f source.Field) string { return text(f, a) })
	}
}

// amountsOf returns the named amounts of a step.
func amountsOf(all []source.CaseAmount) (amounts []weighing.Amount) {
	for _, a := range all {
		amounts = append(amounts, weighing.Amount{Name: []byte(a.Name), N: a.N})
	}
	return amounts
}

// answered compares an answer with the expectations of its step. what names the question: a request or a settlement.
func (r *runner) answered(s *source.Step, n int, what string, err error, text func(f source.Field) string) {
	switch {
	case expectsError(s):
		r.compareError(s, n, err)
	case err == nil:
		r.failure = ""
		r.compare(s, n, text)
	case err.Error() != r.failure:
		r.failure = err.Error()
		r.differ(s, s.At, n, "the "+what+" is an error: "+r.failure)
	}
}

// begin begins the comparisons of a step.
func (r *runner) begin(s *source.Step) {
	r.failure, r.seen = "", make([]string, len(s.Expect))
	for i := range s.Expect {
		r.seen[i] = s.Expect[i].Values[0].Text
	}
}

// keep returns the tokens to keep, or other if the step has no word keep.
func keep(k source.CaseKeep, other int64) int64 {
	switch {
	case k.All:
		return reservations.KeepAll
	case k.Given:
		return k.N
	}
	return other
}

// settle extends, commits or cancels the reservation of a step.
func (r *runner) settle(s *source.Step) {
	r.begin(s)
	x := s.Settlement
	build := func(b *engine.Batch) {
		switch id := []byte(x.ID); {
		case x.TTL > 0:
			reservations.Extend(b, id, reservations.Extension{TTL: int64(x.TTL), By: x.By,
				Keep: keep(x.Keep, reservations.Unchanged)})
		case x.Amounts != nil:
			reservations.CommitNamed(b, id, amountsOf(x.Amounts))
		case len(x.Actual) > 0:
			reservations.Commit(b, id, x.Actual)
		default:
			reservations.Cancel(b, id)
		}
	}
	for n := range s.Times {
		r.result.Requests++
		settled, err := r.simulator.Settle(build)
		r.answered(s, n, x.Word, err, func(f source.Field) string { return settledText(f, &settled) })
	}
}

// settledText returns a field of an answer about a reservation in its shortest form.
func settledText(f source.Field, x *checks.Settled) string {
	v := x.WaitMillis
	switch f {
	case source.FieldState:
		return x.State
	case source.FieldN:
		v = x.N
	case source.FieldDone:
		if v = 0; x.Done {
			v = 1
		}
	}
	return strconv.FormatInt(v, 10)
}

// warnUnlimited warns of a step whose request meets no limit.
func (r *runner) warnUnlimited(s *source.Step) {
	isMeant := func(e source.Expectation) bool { return e.Field >= source.FieldRule }
	if len(s.Expect) == 0 || slices.ContainsFunc(s.Expect, isMeant) || len(r.result.Warnings) == source.MaxMistakes {
		return
	}
	text := "the request meets no limit"
	if r.set.Domain(s.Domain) == nil {
		text = fmt.Sprintf("the rules have no domain %q", s.Domain)
	}
	r.result.Warnings = append(r.result.Warnings,
		source.Mistake{At: s.At, Text: text + "; if that is meant, expect reason: none"})
}

// override sets or drops the override of a step.
func (r *runner) override(s *source.Step) {
	err := r.simulator.Override(s.Override)
	switch {
	case expectsError(s):
		r.compareError(s, 0, err)
	case err != nil:
		r.differ(s, s.At, 0, "the override is an error: "+err.Error())
	}
}

// expectsError reports whether a step expects errors in place of answers.
func expectsError(s *source.Step) bool {
	return len(s.Expect) > 0 && s.Expect[0].Field == source.FieldError
}

// compareError compares the error, or nil, of request n of a step.
func (r *runner) compareError(s *source.Step, n int, err error) {
	got := ""
	if err != nil {
		got = err.Error()
	}
	values := s.Expect[0].Values
	want := values[min(n, len(values)-1)]
	r.result.Values++
	again := n > 0 && len(values) == 1 && got == r.failure
	r.failure = got
	if (err == nil || !strings.Contains(got, want.Text)) && !again {
		r.differ(s, want.At, n, fmt.Sprintf("%v: got %q, want it with %q", source.FieldError, got, want.Text))
	}
}

// compare compares the answer to request n of a step. text returns a field of the answer.
func (r *runner) compare(s *source.Step, n int, text func(source.Field) string) {
	for i := range s.Expect {
		e := &s.Expect[i]
		want := e.Values[min(n, len(e.Values)-1)]
		got := text(e.Field)
		r.result.Values++
		again := len(e.Values) == 1 && got == r.seen[i]
		r.seen[i] = got
		if got == want.Text || again {
			continue
		}
		if e.Field >= source.FieldRule {
			got, want.Text = strconv.Quote(got), strconv.Quote(want.Text)
		}
		r.differ(s, want.At, n, fmt.Sprintf("%v: got %s, want %s", e.Field, got, want.Text))
	}
}

// differ records a difference in request n of a step.
func (r *runner) differ(s *source.Step, at source.At, n int, difference string) {
	if r.result.Different++; r.result.Different > source.MaxMistakes {
		return
	}
	if s.Times > 1 {
		difference += fmt.Sprintf(" (request %d of %d)", n+1, s.Times)
	}
	r.result.Differences = append(r.result.Differences, source.Mistake{At: at, Text: difference})
}

// text returns a field of an answer in its shortest form.
func text(f source.Field, a *checks.Answer) string {
	var v int64
	switch f {
	case source.FieldAllowed:
		if a.Allowed {
			v = max(1, a.Granted)
		}
	case source.FieldLimit:
		v = a.Limit
	case source.FieldRemaining:
		v = a.Remaining
	case source.FieldWait:
		v = a.WaitMillis
	case source.FieldReset:
		v = a.ResetMillis
	case source.FieldRule:
		return a.Name
	case source.FieldReason:
		return a.Reason.String()
	}
	return strconv.FormatInt(v, 10)
}
