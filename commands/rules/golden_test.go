package rules

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"limitsrv/commands/rules/source"
	"limitsrv/commands/weighing"
	"limitsrv/engine"
	"limitsrv/engine/enginetest"
)

// TestGolden runs the scripts in testdata.
//
//	load              the rules of the commands below; warnings
//	match [domain=D]  for each line, attributes as KEY VALUE, AND between descriptors: the
//	                  verdict, limits and boxes. "advance 1s" on a line moves the clock
//	override          for each line, SET|DEL|LIST and the arguments of RL.OVERRIDE
//	explain           as match: the rules that match, and the reasons of the rest
//	reject            the mistakes of several texts, "---- ----" between them
//	diff              the changes from the rules to the rules in the input
//	show              all limits
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") {
			return
		}
		g := &golden{t: t, set: &Set{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			g.out.Reset()
			g.domain = "api"
			d.MaybeScanArgs(t, "domain", &g.domain)
			g.run(d)
			return enginetest.HideAlgorithms(g.out.String())
		})
	})
}

type golden struct {
	t         *testing.T
	set       *Set
	overrides *Overrides
	now       engine.Instant
	domain    string
	out       strings.Builder
}

func (g *golden) say(format string, args ...any) { fmt.Fprintf(&g.out, format+"\n", args...) }

func (g *golden) run(d *datadriven.TestData) {
	switch d.Cmd {
	case "load":
		set, err := Load([]source.File{{Name: "f", Text: []byte(d.Input)}})
		if err != nil {
			g.say("%v", err)
			return
		}
		g.set = set
		for _, w := range set.Warnings() {
			g.say("warning: %v", w)
		}
		g.say("%d rules, %d limits", set.NumRules(), set.NumLimits())
	case "reject":
		for text := range strings.SplitSeq(d.Input, "\n---- ----\n") {
			if _, err := Load([]source.File{{Name: "f", Text: []byte(text)}}); err == nil {
				g.say("accepted")
			} else {
				g.say("%v", err)
			}
		}
	case "diff":
		set, err := Load([]source.File{{Name: "f", Text: []byte(d.Input)}})
		if err != nil {
			g.t.Fatal(err)
		}
		g.diff(Compare(g.set, set))
	case "show":
		for l := range g.set.Limits("", 0) {
			g.say("%s %s %s: %v; %v; near above %d", l.Rule.Domain.Name, l.Name, l.Mode, l, l.Policy(), l.NearAbove)
		}
	default:
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSpace(line)
			if by, ok := strings.CutPrefix(line, "advance "); ok {
				span, err := time.ParseDuration(by)
				if err != nil {
					g.t.Fatal(err)
				}
				g.now += engine.Instant(span)
				continue
			}
			g.line(d.Cmd, line)
		}
	}
}

func (g *golden) line(command, line string) {
	switch command {
	case "match":
		g.match(line)
	case "override":
		g.override(strings.Fields(line))
	case "explain":
		var r Result
		q := parseRequest(g.domain, line)
		var all []Explanation
		if err := g.set.Match(q, g.overrides, g.now, &r); err != nil {
			g.say("%v", err)
		} else {
			all = r.Explain(q)
		}
		g.say("%s", line)
		for _, e := range all {
			yes := map[bool]string{true: "yes", false: "no "}[e.Matches]
			g.say("  %d %s %s: %s", e.Descriptor, yes, e.Rule, e.Reason)
		}
	default:
		g.t.Fatalf("no command %s", command)
	}
}

// parseRequest makes a request of attributes: KEY VALUE pairs, AND between descriptors. The
// value "" is empty. LIMIT N at the end of a descriptor sends a limit of N an hour,
// and N/day of N a day. HITS, or BY for a settlement, and NAME=N each end the line.
func parseRequest(domain, line string) *Request {
	q := &Request{Domain: []byte(domain)}
	line, given, weighs := strings.Cut(line, " HITS ")
	if !weighs {
		line, given, q.Used = strings.Cut(line, " BY ")
	}
	for _, amount := range strings.Fields(given) {
		name, text, _ := strings.Cut(amount, "=")
		n, _ := strconv.ParseInt(text, 10, 64)
		q.Amounts = append(q.Amounts, weighing.Amount{Name: []byte(name), N: n})
	}
	for part := range strings.SplitSeq(line, " AND ") {
		var d Descriptor
		words := strings.Fields(part)
		for ; len(words) >= 2; words = words[2:] {
			if words[0] == "LIMIT" {
				count, daily := strings.CutSuffix(words[1], "/day")
				if d.Limit = (&RequestLimit{Period: int64(time.Hour)}); daily {
					d.Limit.Period *= 24
				}
				fmt.Sscan(count, &d.Limit.Count)
				continue
			}
			d.Entries = append(d.Entries, Entry{[]byte(words[0]), []byte(strings.Trim(words[1], `"`))})
		}
		q.Descriptors = append(q.Descriptors, d)
	}
	return q
}

func (g *golden) match(line string) {
	var r Result
	q := parseRequest(g.domain, line)
	if err := g.set.Match(q, g.overrides, g.now, &r); err != nil {
		g.say("%s: %v", line, err)
		return
	}
	g.say("%s: %v %v", line, r.Verdict, r.Descriptors)
	for i := range r.Limits {
		m := &r.Limits[i]
		p := m.Limit.Params
		if err := p.Check(); err != nil || !p.IsReduced() {
			g.t.Errorf("%s: parameters %+v: %v", line, p, err)
		}
		g.say("  %s: %v, %v %d %d/%v, %s", m.Name(), m.Limit, p.Alg, p.Limit, p.Count, time.Duration(p.Period), m.Mode)
		g.say("    %s", m.Key)
		if len(q.Amounts) > 0 {
			g.say("    hits %d", m.Hits)
		}
		if m.Label != nil {
			g.say("    label %s", m.Label)
		}
		if m.Guard >= 0 {
			g.say("    %s", r.Guards[m.Guard].Key)
		}
	}
}

func (g *golden) override(words []string) {
	v := Override{Domain: g.domain}
	verb := words[0]
	if verb == "LIST" {
		for _, v := range g.overrides.List("") {
			g.say("%s %v %v %s %s", v.Domain, v.Path, v.Effect, v.Limit, v.Rule)
		}
		return
	}
	words = words[1:]
	for len(words) > 0 {
		switch {
		case words[0] == "ALLOW":
			v.Effect, words = Allow, words[1:]
		case words[0] == "DENY":
			v.Effect, words = Deny, words[1:]
		case words[0] == "LIMIT":
			v.Effect, v.Limit, words = Replace, strings.ReplaceAll(words[1], "_", " "), words[2:]
		case words[0] == "RULE":
			v.Rule, words = words[1], words[2:]
		case words[0] == "EX":
			span, err := time.ParseDuration(words[1])
			if err != nil {
				g.t.Fatal(err)
			}
			v.Until, words = g.now+engine.Instant(span), words[2:]
		default:
			v.Path, words = append(v.Path, Attribute{words[0], words[1]}), words[2:]
		}
	}
	made, err := NewOverride(v)
	if d := g.set.Domain(v.Domain); verb == "SET" && err == nil && d != nil && len(d.amounts) > 0 {
		_, err = g.set.Reach(made)
	}
	switch {
	case err != nil:
		g.say("%v", err)
	case verb == "SET":
		g.overrides = g.overrides.With(made)
	case verb == "DEL":
		was := g.overrides.Len()
		g.overrides = g.overrides.Without(made)
		g.say("%d", was-g.overrides.Len())
	default:
		g.t.Fatalf("no %s", verb)
	}
}

func (g *golden) diff(d Diff) {
	for _, c := range d.Changes {
		restarted := map[bool]string{true: " restarted", false: ""}[c.Restarted]
		g.say("%v%s %s %s: %q -> %q", c.Kind, restarted, c.Domain, c.Name, c.Old(), c.New())
	}
	g.say("added %d changed %d removed %d restarted %d, from %v", d.Added, d.Changed, d.Removed, d.Restarted, d.From)
}
