package lint_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

// maxWords is the budget of a folder: vague words and phrases per 1000 words of the
// comments in its Go files, or of the text in its Markdown files. wordBudgets are the
// exceptions. They may only fall: a budget must be lowered once it is more than
// budgetSlack above the measured value, and removed once that is below maxWords.
const (
	maxWords    = 1.0
	budgetSlack = 1.0
)

var wordBudgets = map[string]float64{}

// vague matches words and phrases that plain engineering English avoids: clauses in
// place of nouns, and old-fashioned idioms.
var vague = regexp.MustCompile(`(?i)\b(?:what|whatever|whoever|whose|who)\b|\bbut for\b|\bfor want of\b|\bby now\b|` +
	`\bbe it\b|\bis none\b|\bthat of\b|\bas good as new\b|\bhas \w+ed by\b`)

// sentenceEnd matches the end of a sentence in text with single blanks.
var sentenceEnd = regexp.MustCompile(`[.:;?!] `)

// A wording is the counts of a folder.
type wording struct {
	words, vague int
	sentences    []vagueSentence
}

// A vagueSentence is a sentence with at least one match of vague.
type vagueSentence struct {
	at, text string // at is FILE:LINE
	vague    int
}

// add counts a text that begins on line number of the file name.
func (w *wording) add(name string, number int, text string) {
	var (
		joined strings.Builder
		starts []int // offset in joined of each line
	)
	for line := range strings.Lines(text) {
		starts = append(starts, joined.Len())
		for word := range strings.FieldsSeq(line) {
			w.words++
			joined.WriteString(word + " ")
		}
	}
	for from, rest := 0, joined.String(); rest != ""; {
		end := len(rest)
		if at := sentenceEnd.FindStringIndex(rest); at != nil {
			end = at[1]
		}
		if found := vague.FindAllStringIndex(rest[:end], -1); found != nil {
			w.vague += len(found)
			line := sort.SearchInts(starts, from+found[0][0]+1) - 1
			w.sentences = append(w.sentences, vagueSentence{fmt.Sprintf("%s:%d", name, number+line), rest[:end], len(found)})
		}
		from, rest = from+end, rest[end:]
	}
}

// addGo counts the comments of a Go file, except directives.
func (w *wording) addGo(files *token.FileSet, name string, source []byte) error {
	file, err := parser.ParseFile(files, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		var lines []string
		for _, c := range group.List {
			text := strings.TrimSuffix(strings.TrimLeft(c.Text, "/*"), "*/")
			if strings.HasPrefix(c.Text, "//go:") {
				text = ""
			}
			lines = append(lines, text)
		}
		w.add(name, files.Position(group.Pos()).Line, strings.Join(lines, "\n"))
	}
	return nil
}

// codeBlock matches a fenced block of Markdown.
var codeBlock = regexp.MustCompile("(?ms)^```.*?^```")

// addMarkdown counts the text of a Markdown file, except code blocks.
func (w *wording) addMarkdown(name string, source []byte) {
	text := codeBlock.ReplaceAllStringFunc(string(source), func(block string) string {
		return strings.Repeat("\n", strings.Count(block, "\n"))
	})
	w.add(name, 1, text)
}

// perThousand is the number of matches per 1000 words.
func (w *wording) perThousand() float64 { return 1000 * float64(w.vague) / float64(max(1, w.words)) }

// worst lists the n sentences with the most matches.
func (w *wording) worst(n int) string {
	slices.SortStableFunc(w.sentences, func(a, b vagueSentence) int { return b.vague - a.vague })
	var b strings.Builder
	for _, s := range w.sentences[:min(n, len(w.sentences))] {
		fmt.Fprintf(&b, "\n\t%s: %s", s.at, s.text)
	}
	return b.String()
}

// budgetComplaint returns the violation of a folder's budget, or "".
func budgetComplaint(folder string, budgets map[string]float64, w *wording) string {
	budget, listed := budgets[folder]
	if !listed {
		budget = maxWords
	}
	switch got := w.perThousand(); {
	case got > budget:
		return fmt.Sprintf("%s: %.1f vague words per 1000, want at most %.1f; the worst sentences:%s", folder, got, budget, w.worst(8))
	case listed && got <= maxWords:
		return fmt.Sprintf("%s: %.1f vague words per 1000: remove its budget of %.1f", folder, got, budget)
	case listed && budget > got+budgetSlack:
		return fmt.Sprintf("%s: %.1f vague words per 1000: lower its budget of %.1f", folder, got, budget)
	}
	return ""
}

// TestWordBudgets counts the words of each package folder, and of README.md and docs as
// the folder docs.
func TestWordBudgets(t *testing.T) {
	folders := map[string]*wording{}
	in := func(folder string) *wording {
		if folders[folder] == nil {
			folders[folder] = &wording{}
		}
		return folders[folder]
	}
	err := walkSources(func(name string, source []byte) error {
		dir := path.Dir(name)
		switch {
		case strings.HasSuffix(name, ".go"):
			if i := slices.IndexFunc(foreignFolders, func(folder string) bool { return under(dir, folder) }); i >= 0 {
				dir = foreignFolders[i]
			}
			return in(dir).addGo(token.NewFileSet(), name, source)
		case name == "README.md" || dir == "docs":
			in("docs").addMarkdown(name, source)
		case slices.Contains(foreignFolders, dir):
			in(dir).addMarkdown(name, source)
		}
		return nil
	}, ".go", ".md")
	if err != nil {
		t.Fatal(err)
	}
	for folder, w := range folders {
		if complaint := budgetComplaint(folder, wordBudgets, w); complaint != "" {
			t.Error(complaint)
		}
	}
	for folder := range wordBudgets {
		if folders[folder] == nil {
			t.Errorf("%s has a budget, but no words", folder)
		}
	}
}

func TestWordBudgetComplains(t *testing.T) {
	const source = "package p\n\n// F is fine. It says what\n// it does, but\n// for nothing.\nvar F = \"who\" // whose\n"
	w := &wording{}
	if err := w.addGo(token.NewFileSet(), "a.go", []byte(source)); err != nil {
		t.Fatal(err)
	}
	w.addMarkdown("a.md", []byte("one\n```\nwho\n```\nby now\n"))
	if w.words != 15 || w.vague != 4 {
		t.Errorf("%d words, %d vague, want 15 and 4", w.words, w.vague)
	}
	if got := w.worst(9); !strings.Contains(got, "a.go:3: It says what") || !strings.Contains(got, "a.go:6: whose") || !strings.Contains(got, "a.md:5: one by now") {
		t.Errorf("worst = %s", got)
	}
	half := &wording{words: 2000, vague: 4}
	for _, tt := range []struct {
		budgets map[string]float64
		want    string // substring of the complaint; empty: none
	}{
		{nil, "at most 1.0"},
		{map[string]float64{"f": 1.9}, "at most 1.9"},
		{map[string]float64{"f": 2}, ""},
		{map[string]float64{"f": 3}, ""},
		{map[string]float64{"f": 3.1}, "lower"},
	} {
		if got := budgetComplaint("f", tt.budgets, half); got == "" != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("budgets %v: %q, want %q", tt.budgets, got, tt.want)
		}
	}
	if got := budgetComplaint("f", map[string]float64{"f": 1.5}, &wording{words: 1000, vague: 1}); !strings.Contains(got, "remove") {
		t.Errorf("a budget that is not needed: %q, want a complaint", got)
	}
	if got := budgetComplaint("f", nil, &wording{words: 1000, vague: 1}); got != "" {
		t.Errorf("a folder without a budget: %q, want no complaint", got)
	}
}
