package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/ruletest"
	"limitsrv/commands/rules/source"
	"limitsrv/internal/files"
)

// rulesOptions are the options of the tool rules.
type rulesOptions struct {
	Check checkRulesOptions `cmd:"" help:"Reads files as the server would, all together, and prints every mistake and warning as FILE:LINE; with --against also each limit that differs from those of a server."`
	Lint  struct {
		Files []string `arg:"" name:"file" help:"Files with rules, or directories with *.yaml and *.yml."`
	} `cmd:"" help:"As check, and fails if there is a warning: of rules that never match, count or deny, of lists without effect, of files that are not read."`
	Show struct {
		Files []string `arg:"" name:"file" help:"Files with rules, or directories with *.yaml and *.yml."`
	} `cmd:"" help:"Prints the limits of files, with the names that clients see."`
	Test struct {
		File  string `arg:"" name:"file" help:"File with rules, or directory with *.yaml and *.yml."`
		Cases string `arg:"" name:"cases" help:"File with requests at times, and their expected answers."`
	} `cmd:"" help:"Decides the requests of a file by the rules, on a clock that the file sets, and prints every unexpected answer as FILE:LINE."`
	Push pushOptions `cmd:"" help:"Prints each limit that differs from those of a server, and loads the files there, unless its rules have changed meanwhile."`
}

type checkRulesOptions struct {
	Files         []string `arg:"" name:"file" help:"Files with rules, or directories with *.yaml and *.yml."`
	Against       string   `placeholder:"HOST:PORT" help:"Address of a server for Redis clients, or unix:PATH. Its user needs the group rules, and the key pattern *."`
	remoteOptions `embed:""`
}

type pushOptions struct {
	Files         []string `arg:"" name:"file" help:"Files with rules, or directories with *.yaml and *.yml. Together they replace all rules of the server."`
	To            string   `required:"" placeholder:"HOST:PORT" help:"Address of a server for Redis clients, or unix:PATH: of any node of a cluster. Its user needs the group rules, and the key pattern *."`
	Note          string   `placeholder:"TEXT" help:"Note in RL.RULES HISTORY."`
	remoteOptions `embed:""`
}

// Validate returns an error for an address that no server can have, and for options without effect.
func (o *checkRulesOptions) Validate() error {
	if o.Against == "" {
		return o.remoteOptions.Validate()
	}
	return o.validateAt(o.Against)
}

// Validate returns an error for an address that no server can have, and for options without effect.
func (o *pushOptions) Validate() error {
	if o.To == "" {
		return o.remoteOptions.Validate() // the parser asks for --to
	}
	return o.validateAt(o.To)
}

const rulesDescription = `Checks rule files, shows their limits, tests them, or loads them into a server.

Exits with 0 if the rules are valid, warnings or not except for lint, all answers are as expected, and the
server has the rules; with 1 if not, or if a server can't be asked; with 2 if the command
line is wrong. A push that exits with 1 has changed nothing, unless the connection broke.`

func runRules(c call) int {
	var o rulesOptions
	if code, ok := c.parse("rules", rulesDescription, &o); !ok {
		return code
	}
	names := slices.Concat(o.Check.Files, o.Lint.Files, o.Show.Files, o.Push.Files)
	if o.Test.File != "" {
		names = []string{o.Test.File}
	}
	all, err := options.ReadRuleFiles(names...)
	var set *rules.Set
	if err == nil {
		set, err = rules.Load(all)
	}
	if err != nil {
		fmt.Fprintln(c.stderr, err)
		return exitFailure
	}
	switch {
	case o.Test.File != "":
		return testRules(c, set, o.Test.Cases)
	case len(o.Show.Files) > 0:
		showRules(c, set)
		return exitOK
	}
	_, leftOut, _ := options.RuleFiles(names...)
	for _, name := range leftOut {
		fmt.Fprintf(c.stdout, "%s: warning: %s\n", name, options.LeftOutText)
	}
	for _, f := range all {
		if len(bytes.TrimSpace(f.Text)) == 0 {
			fmt.Fprintf(c.stdout, "%s:1: warning: the file is empty\n", f.Name)
			leftOut = append(leftOut, f.Name)
		}
	}
	for _, w := range set.Warnings() {
		fmt.Fprintf(c.stdout, "%v: warning: %s\n", w.At, w.Text)
	}
	if n := len(leftOut) + len(set.Warnings()); len(o.Lint.Files) > 0 && n > 0 {
		fmt.Fprintf(c.stdout, "failed: %s\n", plural(n, "warning"))
		return exitFailure
	}
	fmt.Fprintf(c.stdout, "ok: %s, %s, %s\n", plural(len(set.Domains()), "domain"), plural(set.NumRules(), "rule"),
		plural(set.NumLimits(), "limit"))
	if o.Check.Against == "" && o.Push.To == "" {
		return exitOK
	}
	p, err := live.Proposal(all, set)
	switch {
	case err != nil:
		fmt.Fprintln(c.stderr, err)
		return exitFailure
	case o.Push.To != "":
		return pushRules(c, &o.Push, p)
	}
	return checkAgainst(c, &o.Check.remoteOptions, o.Check.Against, p)
}

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// testRules prints the unexpected answers to the requests of a file of cases.
func testRules(c call, set *rules.Set, cases string) int {
	text, _, err := files.Read(cases, source.MaxBytes)
	if err != nil {
		fmt.Fprintln(c.stderr, err)
		return exitFailure
	}
	scenarios, err := source.ParseCases(source.File{Name: cases, Text: text})
	if err != nil {
		fmt.Fprintln(c.stderr, err)
		return exitFailure
	}
	r := ruletest.Run(set, scenarios)
	for _, w := range r.Warnings {
		fmt.Fprintf(c.stdout, "%v: warning: %s\n", w.At, w.Text)
	}
	for _, d := range r.Differences {
		fmt.Fprintln(c.stdout, d)
	}
	if more := r.Different - len(r.Differences); more > 0 {
		fmt.Fprintf(c.stdout, "and %d more\n", more)
	}
	if r.Different > 0 {
		fmt.Fprintf(c.stdout, "failed: %s in %s\n", plural(r.Different, "difference"), plural(r.Requests, "request"))
		return exitFailure
	}
	fmt.Fprintf(c.stdout, "ok: %s, %s\n", plural(r.Requests, "request"), plural(r.Values, "expected value"))
	return exitOK
}

// showRules prints the limits of a set, each in a line below its domain.
func showRules(c call, set *rules.Set) {
	for _, d := range set.Domains() {
		fmt.Fprintf(c.stdout, "%s%s\n", d.Name, domainSettings(d))
		for l := range set.Limits(d.Name, 0) {
			line := fmt.Sprintf("  %-40s %v", l.Name, l)
			if l.Tier != "" {
				line += ", tier " + l.Tier
			}
			if l.Mode != rules.Enforced {
				line += ", " + l.Mode.String()
			}
			if p := l.Rule.Penalty; p != nil {
				line += fmt.Sprintf(", penalty after %d", p.After)
			}
			fmt.Fprintln(c.stdout, line)
		}
	}
}

// domainSettings returns the settings of a domain that are not the defaults.
func domainSettings(d *rules.Domain) string {
	var parts []string
	if d.DenyUnmatched {
		parts = append(parts, "unmatched: deny")
	}
	if word := d.NoQuorumWord(); word != "" {
		parts = append(parts, "no_quorum: "+word)
	}
	if !d.RequestLimits {
		parts = append(parts, "request_limits: false")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
