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

// A habit is a word or phrase that hides the thing it means, and the permitted number
// of matches per 1000 words. The budgets hold for the comments of all Go files, and for
// the text of all Markdown files. They may only fall.
type habit struct {
	name   string
	most   float64
	phrase *regexp.Regexp
}

var habits = []habit{
	{"clauses and idioms", 0.3,
		phrase(`what|whatever|whoever|whose|who|but for|for want of|by now|be it|as good as new|has \w+ed by`)},
	{"one(s)", 2.5, phrase(`ones?`)},
	{"preposition and which", 0.7, phrase(`(?:` + prepositions + `) which`)},
	{"those of, that of", 0.1, phrase(`(?:those|that) of`)},
	{"none", 0.3, phrase(`none`)},
	{"others", 0.1, phrase(`others`)},
	{"behind", 0.1, phrase(`behind`)},
	{"begin as a noun", 0, phrase(`(?:the|a|its|their|each|every) begin`)},
}

const prepositions = `about|above|after|against|among|at|before|below|between|beyond|by|during|for|from|in|into|of|on|` +
	`over|since|than|through|to|under|until|upon|with|within|without`

// phrase matches words, in text with single blanks.
func phrase(words string) *regexp.Regexp { return regexp.MustCompile(`(?i)\b(?:` + words + `)\b`) }

// maxSentence is the permitted number of words of a sentence in Markdown. A code span
// counts as one word.
const maxSentence = 40

// sentenceEnd matches the end of a sentence in text with single blanks.
var sentenceEnd = regexp.MustCompile(`[.?!][)"]? `)

// A wording is the counts of a text.
type wording struct {
	words     int
	found     []int // by index in habits
	sentences []badSentence
}

// A badSentence is a sentence with a habit.
type badSentence struct {
	at, text string // at is FILE:LINE
	found    []int  // by index in habits
}

// add counts a text that starts at line number of the file name. It returns the
// sentences with more than longest words.
func (w *wording) add(name string, number int, text string, longest int) (long []string) {
	var (
		joined strings.Builder
		starts []int // offset in joined of each line
	)
	if w.found == nil {
		w.found = make([]int, len(habits))
	}
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
		at := fmt.Sprintf("%s:%d", name, number+sort.SearchInts(starts, from+1)-1)
		s := badSentence{at, rest[:end], make([]int, len(habits))}
		for i, h := range habits {
			s.found[i] = len(h.phrase.FindAllStringIndex(s.text, -1))
			w.found[i] += s.found[i]
		}
		if slices.Max(s.found) > 0 {
			w.sentences = append(w.sentences, s)
		}
		if n := len(strings.Fields(s.text)); n > longest {
			long = append(long, fmt.Sprintf("%s: %d words in a sentence, want at most %d: %s", at, n, longest, s.text))
		}
		from, rest = from+end, rest[end:]
	}
	return long
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
		w.add(name, files.Position(group.Pos()).Line, strings.Join(lines, "\n"), len(source))
	}
	return nil
}

var (
	// codeBlock matches a fenced block of Markdown.
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```")
	// codeSpan matches code within a line, and target the target of a link.
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	target   = regexp.MustCompile(`\]\([^)\n]*\)`)
	// part matches the start of a line that does not continue the sentence of the line before.
	part = regexp.MustCompile(`^\s*(?:[-*#|]|\d+\.|<!--|$)`)
)

// addMarkdown counts the text of a Markdown file, except code blocks, and returns its
// long sentences. A list item, a cell of a table, and a heading end a sentence.
func (w *wording) addMarkdown(name string, source []byte) (long []string) {
	text := codeBlock.ReplaceAllStringFunc(string(source), func(block string) string {
		return strings.Repeat("\n", strings.Count(block, "\n"))
	})
	text = target.ReplaceAllString(codeSpan.ReplaceAllString(text, "x"), "]")
	number, first, paragraph := 0, 1, ""
	flush := func() {
		for i, cell := range strings.Split(paragraph, "|") {
			if i > 0 && strings.Contains(cell, "\n") {
				cell = strings.TrimSpace(cell)
			}
			long = append(long, w.add(name, first, cell, maxSentence)...)
		}
		paragraph, first = "", number
	}
	for line := range strings.Lines(text) {
		number++
		if part.MatchString(line) {
			flush()
		}
		paragraph += line
	}
	flush()
	return long
}

// perThousand is the number of matches of a habit per 1000 words.
func (w *wording) perThousand(habit int) float64 {
	if w.words == 0 {
		return 0
	}
	return 1000 * float64(w.found[habit]) / float64(w.words)
}

// worst lists the n sentences with the most matches of a habit.
func (w *wording) worst(habit, n int) string {
	slices.SortStableFunc(w.sentences, func(a, b badSentence) int { return b.found[habit] - a.found[habit] })
	var b strings.Builder
	for _, s := range w.sentences[:min(n, len(w.sentences))] {
		if s.found[habit] > 0 {
			fmt.Fprintf(&b, "\n\t%s: %s", s.at, s.text)
		}
	}
	return b.String()
}

// over returns a complaint for each habit beyond its budget.
func (w *wording) over() (complaints []string) {
	for i, h := range habits {
		if got := w.perThousand(i); got > h.most {
			complaints = append(complaints,
				fmt.Sprintf("%s: %.2f per 1000 words, want at most %.1f:%s", h.name, got, h.most, w.worst(i, 8)))
		}
	}
	return complaints
}

// TestWordBudgets counts the words of the comments in all Go files, and of all Markdown
// files, and measures the sentences of Markdown files.
func TestWordBudgets(t *testing.T) {
	var comments, docs wording
	err := walkSources(func(name string, source []byte) error {
		if path.Ext(name) == ".go" {
			return comments.addGo(token.NewFileSet(), name, source)
		}
		for _, long := range docs.addMarkdown(name, source) {
			t.Error(long)
		}
		return nil
	}, ".go", ".md")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]*wording{"comments": &comments, "docs": &docs} {
		for i, h := range habits {
			t.Logf("%s: %s: %.2f per 1000 of %d words", name, h.name, text.perThousand(i), text.words)
		}
		for _, complaint := range text.over() {
			t.Errorf("%s: %s", name, complaint)
		}
	}
}

func TestWordBudgetComplains(t *testing.T) {
	const source = "package p\n\n// F is fine. It says what\n// it does, but\n// for nothing.\nvar F = \"who\" // whose\n"
	w := &wording{}
	if err := w.addGo(token.NewFileSet(), "a.go", []byte(source)); err != nil {
		t.Fatal(err)
	}
	if long := w.addMarkdown("a.md", []byte("two\n```\nwho\n```\nby now `one of` [a](b which)\n")); long != nil {
		t.Errorf("long sentences %q, want none", long)
	}
	if w.words != 17 || w.found[0] != 4 {
		t.Errorf("%d words, %d clauses and idioms, want 17 and 4", w.words, w.found[0])
	}
	if got := w.worst(0, 9); !strings.Contains(got, "a.go:3: It says what") || !strings.Contains(got, "a.go:6: whose") ||
		!strings.Contains(got, "a.md:5: by now") {
		t.Errorf("worst = %s", got)
	}
	long := strings.Repeat("word ", maxSentence+1)
	for _, text := range []string{long, "# Title\n\nShort. " + long, "- item\n- " + long,
		"| cell | " + long + "|\n|---|---|\n"} {
		if got := (&wording{}).addMarkdown("a.md", []byte(text)); len(got) != 1 {
			t.Errorf("%q has the long sentences %q, want one", text, got)
		}
	}
	half := strings.Repeat("word ", maxSentence/2+1)
	for _, text := range []string{half + ". " + half, half + "\n\n" + half, "- " + half + "\n- " + half,
		"| " + half + " | " + half + "|\n"} {
		if got := (&wording{}).addMarkdown("a.md", []byte(text)); got != nil {
			t.Errorf("%q has the long sentences %q, want none", text, got)
		}
	}
	for i, sample := range []string{"who", "ones", "in\n which", "those of", "None", "others", "behind", "the begin"} {
		w := &wording{}
		w.add("a.go", 1, "a word and "+sample, 100)
		if got := w.over(); len(got) != 1 || !strings.HasPrefix(got[0], habits[i].name) {
			t.Errorf("%q: complaints %q, want one about %s", sample, got, habits[i].name)
		}
	}
	if got := (&wording{words: 1000, found: []int{0, 2, 0, 0, 0, 0, 0, 0}}).over(); got != nil {
		t.Errorf("within the budgets: %q, want no complaint", got)
	}
}
