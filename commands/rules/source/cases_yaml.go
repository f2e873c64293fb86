package source

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"limitsrv/commands/limiters"
	"limitsrv/engine"
	"limitsrv/internal/yamlfile"
)

// The words of a document of cases and of a step.
var (
	caseWords = []string{"start", "steps"}
	stepWords = []string{"at", "ask", "override", wordExtend, wordCommit, wordCancel, "domain", "hits", "id", "peek", "by",
		wordReserve, "times", "expect"}
	// insteadWords are, by the word of a step without a request, the other words that the step may have.
	insteadWords = map[string]string{"override": "at and expect", wordExtend: "at, times and expect",
		wordCommit: "at, times and expect", wordCancel: "at, times and expect"}
)

// The years of Start.
const minStartYear, maxStartYear = 2000, 2199

// ParseCases reads the documents of a file of test cases. The error is a Mistakes. Its bounds
// and its cost are as for Parse.
func ParseCases(f File) (all []Scenario, err error) {
	if err := checkSize([]File{f}); err != nil {
		return nil, err
	}
	r := newReader()
	r.file(f, "the words start and steps", func(root *yaml.Node) { all = append(all, r.scenario(root)) })
	if len(r.mistakes) > 0 {
		return nil, r.mistakes
	}
	return all, nil
}

// scenario reads a document of cases.
func (r *reader) scenario(n *yaml.Node) (s Scenario) {
	s.At = r.at(n)
	fields, mark, ok := r.words(n, "a document of cases")
	defer r.release(mark)
	if !ok {
		return s
	}
	for _, f := range fields {
		switch f.word {
		case "start":
			s.Start = r.start(f.value)
		case "steps":
			s.Steps = r.steps(f.value)
		default:
			r.unknown(f, "a document of cases", caseWords)
		}
	}
	for _, w := range caseWords {
		if r.find(w, mark) < 0 {
			r.mistake(n, "a document of cases must have the words start and steps, got no "+w)
		}
	}
	return s
}

// start reads the time of the first step.
func (r *reader) start(n *yaml.Node) time.Time {
	at, err := time.Parse(time.RFC3339Nano, n.Value)
	if year := at.UTC().Year(); n.Kind != yaml.ScalarNode || err != nil || year < minStartYear || year > maxStartYear {
		r.bad(n, "start", fmt.Sprintf("a time of the years %d to %d such as 2026-11-22T02:39:14.856Z", minStartYear,
			maxStartYear))
	}
	return at
}

// steps reads the steps of a document.
func (r *reader) steps(n *yaml.Node) (all []Step) {
	items := r.items(n, "steps")
	if len(items) == 0 {
		r.mistake(n, "a document of cases must have at least one step, got none")
	}
	since := time.Duration(0)
	for _, item := range items {
		if item = r.follow(item); item == nil {
			return nil
		}
		s := r.step(item, since)
		since = s.Since
		all = append(all, s)
	}
	return all
}

// step reads a step, and since is the time of the step before.
func (r *reader) step(n *yaml.Node, since time.Duration) Step {
	s := Step{At: r.at(n), Since: since, Hits: 1, Times: 1}
	fields, mark, ok := r.words(n, "a step")
	defer r.release(mark)
	if !ok {
		return s
	}
	for _, f := range fields {
		switch f.word {
		case "at":
			s.Since = r.since(f.value, since)
		case "domain":
			s.Domain, _ = r.label(f.value, "domain")
		case "hits":
			if f.value.Kind == yaml.MappingNode {
				s.Amounts = r.amounts(f.value, f.word, 0)
				continue
			}
			s.Hits, _ = r.whole(f.value, "hits", 0, engine.MaxN)
		case "id":
			s.ID = r.caseID(f.value)
		case "peek":
			s.Peek = r.boolean(f.value, "peek")
		case "by":
			if s.Used = f.value.Kind == yaml.MappingNode; s.Used {
				s.Amounts = r.amounts(f.value, f.word, -engine.MaxN)
				continue
			}
			if s.Settle, ok = r.whole(f.value, "by", -engine.MaxN, engine.MaxN); ok && s.Settle == 0 {
				r.bad(f.value, "by", "a whole number other than 0")
			}
		case "times":
			if times, ok := r.whole(f.value, "times", 1, MaxCases); ok {
				s.Times = int(times)
			}
		case "override":
			s.Override = r.caseOverride(f.value)
		case wordReserve:
			s.Reserve = r.caseReserve(f.value)
		case wordExtend, wordCommit, wordCancel:
			s.Settlement = r.caseSettlement(f.value, f.word)
		case "ask", "expect":
		default:
			r.unknown(f, "a step", stepWords)
		}
	}
	r.finish(n, mark, &s)
	return s
}

// amounts reads the named amounts of a step.
func (r *reader) amounts(n *yaml.Node, name string, least int64) (all []CaseAmount) {
	fields, mark, _ := r.words(n, name)
	defer r.release(mark)
	for _, f := range fields {
		v, _ := r.whole(f.value, name+" "+f.word, least, engine.MaxN)
		all = append(all, CaseAmount{f.word, v})
	}
	if len(all) == 0 {
		r.bad(n, name, "a whole number or at least one amount, such as {in: 1200}")
	}
	return all
}

// finish reads the words of a step that depend on other words, which stand from mark on.
func (r *reader) finish(n *yaml.Node, mark int, s *Step) {
	if r.cases += s.Times; r.cases > MaxCases {
		r.mistake(n, fmt.Sprintf("the steps of a file may ask %d times together, with this step it is %d", MaxCases, r.cases))
		r.stopped = true
		return
	}
	if (s.Settle != 0 || s.Used) && (s.Peek || r.find("hits", mark) >= 0) {
		r.mistake(n, "a step with by may not have hits or peek")
	}
	if (s.Settle != 0 || s.Used || s.Peek) && s.Reserve != nil {
		r.mistake(n, "a step with reserve may not have by or peek")
	}
	if s.Override != nil || s.Settlement != nil {
		r.checkInstead(mark)
		if at := r.find("expect", mark); at >= 0 {
			s.Expect = r.expect(r.fields[at].value, s)
		}
		return
	}
	if at := r.find("ask", mark); at >= 0 {
		r.ask(r.fields[at].value, s)
	}
	if len(s.Descriptors) == 0 || s.Domain == "" {
		r.mistake(n, "a step must have the word ask, with a domain and attributes as in {domain: api, ip: 203.0.113.7}")
	}
	if at := r.find("expect", mark); at >= 0 {
		s.Expect = r.expect(r.fields[at].value, s)
	}
}

// checkInstead records a mistake for each word that a step without a request may not have. The fields of the step
// start at mark.
func (r *reader) checkInstead(mark int) {
	for _, instead := range stepWords {
		others, ok := insteadWords[instead]
		if !ok || r.find(instead, mark) < 0 {
			continue
		}
		for _, word := range stepWords {
			at := r.find(word, mark)
			if at < 0 || word == instead || word == "at" || word == "expect" || word == "times" && instead != "override" {
				continue
			}
			r.mistake(r.fields[at].key, "a step with "+instead+" may only have "+others+", got "+word)
		}
		return
	}
}

// since reads the time of a step.
func (r *reader) since(n *yaml.Node, before time.Duration) time.Duration {
	if n.Kind == yaml.ScalarNode && n.Value == "0s" && before == 0 {
		return 0
	}
	nanos, err := limiters.ParseDuration("at", []byte(n.Value))
	if n.Kind != yaml.ScalarNode || err != nil || time.Duration(nanos) < before {
		r.bad(n, "at", fmt.Sprintf("a duration since start, 0s or 1us to 10 years, not less than the %v of the step before",
			before))
		return before
	}
	return time.Duration(nanos)
}

// ask reads the descriptors of a step. Unless the step has the word domain, it is in the
// first of them.
func (r *reader) ask(n *yaml.Node, s *Step) {
	all := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		all = n.Content
	}
	domainHere := s.Domain == ""
	for i, d := range all {
		if d = r.follow(d); d == nil {
			return
		}
		fields, mark, ok := r.words(d, "ask")
		var attributes []Attribute
		for _, f := range fields {
			if i == 0 && domainHere && f.word == "domain" {
				s.Domain, _ = r.label(f.value, "domain")
				continue
			}
			attributes = r.attribute(attributes, f)
		}
		r.release(mark)
		if ok {
			s.Descriptors = append(s.Descriptors, attributes)
		}
	}
}

// attribute appends an attribute. A list of values stands for the key several times.
func (r *reader) attribute(to []Attribute, f field) []Attribute {
	values := []*yaml.Node{f.value}
	if f.value.Kind == yaml.SequenceNode {
		values = f.value.Content
	}
	for _, v := range values {
		if v = r.follow(v); v == nil {
			return to
		}
		if text, ok := r.value(v, "an attribute"); ok {
			to = append(to, Attribute{f.word, text})
		}
	}
	return to
}

// expect reads the expected values of the answers to a step.
func (r *reader) expect(n *yaml.Node, s *Step) (all []Expectation) {
	fields, mark, ok := r.words(n, "expect")
	defer r.release(mark)
	if !ok {
		return nil
	}
	for _, f := range fields {
		at := slices.Index(fieldWords, f.word)
		if at < 0 {
			r.unknown(f, "expect", fieldWords)
			continue
		}
		e := Expectation{Field: Field(at)}
		if e.Field == FieldError && len(fields) > 1 || e.Field != FieldError && s.Override != nil {
			r.mistake(f.key, "expect has either error or fields of an answer, which an override does not have, got "+f.word)
			continue
		}
		if !e.Field.answersTo(s) {
			r.mistake(f.key, "expect must have fields of the answer: done, state, n and wait_ms for extend, commit and cancel; "+
				"allowed, limit, remaining, wait_ms, reset_ms, rule and reason for ask; got "+f.word)
			continue
		}
		values := []*yaml.Node{f.value}
		if f.value.Kind == yaml.SequenceNode {
			if values = f.value.Content; len(values) != s.Times {
				r.mistake(f.value, fmt.Sprintf("%s must be one value or a list of %d, as the step has times: %d, got %d", f.word,
					s.Times, s.Times, len(values)))
				continue
			}
		}
		for _, v := range values {
			if v = r.follow(v); v == nil {
				return nil
			}
			e.Values = append(e.Values, Expected{r.at(v), r.expected(v, e.Field, s)})
		}
		all = append(all, e)
	}
	return all
}

// expected reads the value of a field in its shortest form.
func (r *reader) expected(n *yaml.Node, field Field, s *Step) string {
	if field >= FieldRule {
		text, _ := r.text(n, field.String())
		return text
	}
	if yamlfile.IsNull(n) {
		r.bad(n, field.String(), "a whole number")
		return ""
	}
	least, most := field.bounds(s)
	v, _ := r.whole(n, field.String(), least, most)
	return strconv.FormatInt(v, 10)
}
