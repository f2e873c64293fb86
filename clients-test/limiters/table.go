package main

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

// table returns the results for a terminal.
func table(results []result) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nlibrary\tversion\tlanguage\tneeds\tseconds\tresult")
	for _, r := range results {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.1f\t%s\n", r.name, r.version, r.language, strings.Join(r.needs, " "), r.seconds,
			r.verdictLine())
	}
	w.Flush()
	return b.String() + "\n"
}

// verdictLine is the verdict on a line.
func (r result) verdictLine() string {
	if r.verdict == "" {
		return "equal"
	}
	first, _, _ := strings.Cut(r.verdict, "\n")
	return first
}

// markdown returns the results as a table in Markdown.
func markdown(results []result, absent []absent) string {
	var b strings.Builder
	b.WriteString("| library | version | language | needs | result |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.name, minor(r.version), r.language, strings.Join(r.needs, ", "),
			r.verdictLine())
	}
	for _, a := range absent {
		fmt.Fprintf(&b, "| %s | | %s | | %s |\n", a.name, a.language, a.reason)
	}
	return b.String()
}

// minor returns the major and the minor version: Debian updates the rest.
func minor(version string) string {
	if _, rest, epoch := strings.Cut(version, ":"); epoch {
		version = rest
	}
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// The table stands between these lines of the document.
const (
	tableBegin = "<!-- The table of clients-test/limiters/run -document. -->\n"
	tableEnd   = "<!-- end -->\n"
)

// checkDocument returns an error unless the document has the table, or writes it.
func checkDocument(file, table string, rewrite bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(text), tableBegin)
	old, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		return fmt.Errorf("%s: no lines %q and %q", file, tableBegin, tableEnd)
	}
	if old == table {
		return nil
	}
	if !rewrite {
		return fmt.Errorf("%s: its table is not that of this run; -rewrite updates it", file)
	}
	return os.WriteFile(file, []byte(before+tableBegin+table+tableEnd+after), 0o644)
}
