package main

import (
	"fmt"
	"strings"

	"limitsrv/cmd/limitsrv/options"
	"limitsrv/rules"
)

// rulesOptions are the options of the tool rules.
type rulesOptions struct {
	Check struct {
		Files []string `arg:"" name:"file" help:"Files with rules, or directories with *.yaml."`
	} `cmd:"" help:"Reads files as the server would, all together, and prints every mistake and warning as FILE:LINE."`
	Show struct {
		Files []string `arg:"" name:"file" help:"Files with rules, or directories with *.yaml."`
	} `cmd:"" help:"Prints the limits of files, with the names that clients see."`
}

const rulesDescription = `Checks the rule files of --rules, or shows their limits. No server is needed.

Exits with 0 if the rules are valid, warnings or not, and with 1 if they are not.`

func runRules(c call) int {
	var o rulesOptions
	if code, ok := c.parse("rules", rulesDescription, &o); !ok {
		return code
	}
	set, err := loadRules(append(o.Check.Files, o.Show.Files...))
	if err != nil {
		fmt.Fprintln(c.stderr, err)
		return exitFailure
	}
	if len(o.Show.Files) > 0 {
		showRules(c, set)
		return exitOK
	}
	for _, w := range set.Warnings() {
		fmt.Fprintf(c.stdout, "%v: warning: %s\n", w.At, w.Text)
	}
	fmt.Fprintf(c.stdout, "ok: %s, %s, %s\n", plural(len(set.Domains()), "domain"), plural(set.NumRules(), "rule"), plural(set.NumLimits(), "limit"))
	return exitOK
}

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// loadRules reads and compiles the rules of files, and of directories the files *.yaml.
func loadRules(names []string) (*rules.Set, error) {
	all, err := options.ReadRuleFiles(names...)
	if err != nil {
		return nil, err
	}
	return rules.Load(all)
}

// showRules prints the limits of a set, one in a line below its domain.
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
	if d.NoQuorum != "" {
		parts = append(parts, "no_quorum: "+d.NoQuorum)
	}
	if !d.RequestLimits {
		parts = append(parts, "request_limits: false")
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
