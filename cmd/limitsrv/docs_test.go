package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands"
	"limitsrv/commands/spec"
)

const (
	root = "../../"
	// maxReadmeWords keeps the README short; the rest belongs into docs.
	maxReadmeWords = 1500
	// maxSentence is the most words of a sentence before the README's first heading.
	maxSentence = 30
)

// rewrite is the flag of datadriven: write the expected texts anew.
var rewrite = flag.Lookup("rewrite")

// pages returns the README and all pages of docs, by their paths from the root.
func pages(t *testing.T) (all []string) {
	t.Helper()
	all = pagesAt(t, "docs/*.md")
	if len(all) < 10 {
		t.Fatalf("docs has %d pages, want 10 or more", len(all))
	}
	return append(all, "README.md")
}

// pagesAt returns the pages that match a pattern, by their paths from the root.
func pagesAt(t *testing.T, pattern string) (all []string) {
	t.Helper()
	found, err := filepath.Glob(root + pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s has %d pages, %v", pattern, len(found), err)
	}
	for _, name := range found {
		all = append(all, strings.TrimPrefix(filepath.ToSlash(name), root))
	}
	return all
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A block is a code block of a page.
type block struct {
	language, text string
	line           int
	newSession     bool // newSession or newOnSmallDisk stands before it
	smallDisk      bool // newOnSmallDisk stands before it
	wrongTurn      bool // wrongTurn stands before it
}

// Lines of a page. A block may stand in a comment, which a reader does not see.
const (
	// newSession discards the effects of all earlier blocks.
	newSession = "<!-- new session -->"
	// newOnSmallDisk is newSession; the directory limits of the session is a disk of diskBytes.
	newOnSmallDisk = "<!-- new session, limits is a small disk -->"
	// wrongTurn begins a comment before a block with a mistake that a person may make.
	wrongTurn = "<!-- wrong turn"
)

// blocksOf returns the code blocks of a page.
func blocksOf(page string) (all []block) {
	var now *block
	next := block{}
	for i, line := range strings.Split(page, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && now == nil:
			b := next
			b.language, b.line = fence, i+1
			now, next = &b, block{}
		case isFence:
			all = append(all, *now)
			now = nil
		case now != nil:
			now.text += line + "\n"
		case line == newSession || line == newOnSmallDisk:
			next.newSession, next.smallDisk = true, line == newOnSmallDisk
		case strings.HasPrefix(line, wrongTurn):
			next.wrongTurn = true
		}
	}
	return all
}

// shown are the languages of blocks that are not commands, or are run elsewhere:
// clients-test/readme runs the README's snippets, clients-test/idioms the limiters of
// moving-here, clients-test/proxies the configurations of proxies.
var shown = []string{"text", "yaml", "diff", "python", "js", "go", "java", "lua", "nginx", "caddyfile"}

// needed are the programs of blocks of the language shell, which are not run here.
var needed = regexp.MustCompile(`(?m)^(docker|kubectl|go build) `)

// TestDocsBlocks requires every code block to have a language that says whether it is
// run.
func TestDocsBlocks(t *testing.T) {
	for _, name := range pages(t) {
		for _, b := range blocksOf(readPage(t, name)) {
			switch {
			case b.language == "sh" || b.language == "console" || slices.Contains(shown, b.language):
			case b.language != "shell":
				t.Errorf("%s:%d: the language of the block is %q, want sh or console, which are run, shell, or one of %q", name,
					b.line, b.language, shown)
			case !needed.MatchString(b.text):
				t.Errorf("%s:%d: a block of the language shell is not run: only those with docker, kubectl or go build may be",
					name, b.line)
			}
		}
	}
}

// starts matches a line that starts a server in the background.
var starts = regexp.MustCompile(`^(\./)?limitsrv .*&( \w+=\$!)?$`)

// TestDocsWaitForServers requires limitsrv ping --wait after each start of a server, or of
// several: the next line may otherwise be too early.
func TestDocsWaitForServers(t *testing.T) {
	seen := 0
	for _, name := range pages(t) {
		for _, b := range blocksOf(readPage(t, name)) {
			started := false
			for i, line := range strings.Split(b.text, "\n") {
				line = strings.TrimPrefix(line, "$ ")
				switch {
				case starts.MatchString(line):
					started = true
					seen++
				case started && !strings.Contains(line, "limitsrv ping --wait "):
					t.Errorf("%s:%d: %q follows the start of a server, want limitsrv ping --wait", name, b.line+1+i, line)
					started = false
				default:
					started = false
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("the pages start %d servers, want 20 or more", seen)
	}
}

// TestReadmeIsShort counts the words of the README as wc does, and the words of the sentences of
// its first screen.
func TestReadmeIsShort(t *testing.T) {
	text := readPage(t, "README.md")
	if words := len(strings.Fields(text)); words > maxReadmeWords {
		t.Errorf("the README has %d words, want at most %d", words, maxReadmeWords)
	}
	screen, _, _ := strings.Cut(text, "\n**Contents:**")
	if screen == text {
		t.Error("the README has no list of contents after its first screen")
	}
	for i, part := range strings.Split(screen, "```") {
		if i%2 == 1 {
			continue // a block of code
		}
		for _, sentence := range sentenceEnd.Split(part, -1) {
			if words := len(strings.Fields(sentence)); words > maxSentence {
				t.Errorf("a sentence of the README's first screen has %d words, want at most %d: %q", words, maxSentence, sentence)
			}
		}
	}
}

// sentenceEnd matches between two sentences, paragraphs or points of a list.
var sentenceEnd = regexp.MustCompile(`[.?!](\*\*)?\s|\n\n|\n- `)

// TestReadmeContents requires the list of contents to have the headings of the README, in order.
func TestReadmeContents(t *testing.T) {
	text := readPage(t, "README.md")
	list := regexp.MustCompile(`(?m)^\*\*Contents:\*\* .*$`).FindString(text)
	var listed, want []string
	for _, found := range anchor.FindAllStringSubmatch(list, -1) {
		listed = append(listed, strings.TrimPrefix(found[1], "#"))
	}
	for _, found := range regexp.MustCompile(`(?m)^## .*$`).FindAllString(text, -1) {
		want = append(want, anchors(found)...)
	}
	if !slices.Equal(listed, want) {
		t.Errorf("the README's contents are %q, want its headings %q", listed, want)
	}
}

// figure is a number with its digits grouped by blanks.
var figure = regexp.MustCompile(`\d[\d.]*(?: \d{3})*`)

// TestReadmeFigures requires the numbers of the README's first list to be in
// docs/measured.md.
func TestReadmeFigures(t *testing.T) {
	measured, seen := readPage(t, "docs/measured.md"), 0
	for line := range strings.Lines(readPage(t, "README.md")) {
		if strings.HasPrefix(line, "## ") {
			break
		}
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		for _, number := range figure.FindAllString(line, -1) {
			seen++
			if number = strings.TrimRight(number, "."); !strings.Contains(measured, number) {
				t.Errorf("docs/measured.md has no %s, of %q", number, line)
			}
		}
	}
	if seen < 3 {
		t.Errorf("the README's list has %d figures, want 3 or more", seen)
	}
}

var (
	anchor  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile("[^a-z0-9 _-]")
)

// anchors returns the link targets of a page's headings, as GitHub makes them.
func anchors(page string) (all []string) {
	for _, found := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(found[1]), ""), " ", "-"))
	}
	return all
}

// TestDocsLinks requires links within the repository to lead to files and headings, and
// every page to be linked to from the README or another page.
func TestDocsLinks(t *testing.T) {
	linked := map[string]bool{"README.md": true}
	for _, name := range append(pages(t), "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md") {
		for _, found := range anchor.FindAllStringSubmatch(readPage(t, name), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			file, anchor, hasAnchor := strings.Cut(found[1], "#")
			to := filepath.ToSlash(filepath.Join(filepath.Dir(name), file))
			if file == "" {
				to = name
			}
			if _, err := os.Stat(root + to); err != nil {
				t.Errorf("%s: the link to %s: %v", name, found[1], err)
				continue
			}
			if hasAnchor && !slices.Contains(anchors(readPage(t, to)), anchor) {
				t.Errorf("%s: the link to %s: no such heading", name, found[1])
			}
			linked[to] = linked[to] || to != name
		}
	}
	for _, name := range pages(t) {
		if !linked[name] {
			t.Errorf("no page links to %s", name)
		}
	}
}

// TestAlertsRunbooks requires the runbook of each alert to be a heading of a page, and each
// symptom of the page to name its alerts.
func TestAlertsRunbooks(t *testing.T) {
	runbook := regexp.MustCompile(`(?m)^ +runbook: (\S+)#(\S+)$`)
	symptoms := readPage(t, "docs/troubleshooting.md")
	alerts := strings.Split(readPage(t, "deploy/alerts.yaml"), "- alert: ")[1:]
	if len(alerts) < 20 {
		t.Errorf("deploy/alerts.yaml has %d alerts, want 20 or more", len(alerts))
	}
	for _, text := range alerts {
		name, rest, _ := strings.Cut(text, "\n")
		at := runbook.FindStringSubmatch(rest)
		switch {
		case at == nil:
			t.Errorf("%s has no runbook", name)
		case !slices.Contains(anchors(readPage(t, at[1])), at[2]):
			t.Errorf("%s: %s has no heading %s", name, at[1], at[2])
		case strings.HasSuffix(at[1], "troubleshooting.md") && !strings.Contains(symptoms, name):
			t.Errorf("%s does not name %s", at[1], name)
		}
	}
}

// TestInternalsNamesPackages requires docs/internals.md to name every folder of Go code at
// the root.
func TestInternalsNamesPackages(t *testing.T) {
	files, err := filepath.Glob(root + "*/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of Go code, %v", len(files), err)
	}
	named, page := map[string]bool{}, readPage(t, "docs/internals.md")
	for _, file := range files {
		folder := filepath.Base(filepath.Dir(file))
		if !named[folder] && !strings.Contains(page, "`"+folder+"`") {
			t.Errorf("docs/internals.md does not name %s", folder)
		}
		named[folder] = true
	}
}

// plainTable is between the two comments that say so.
var plainTable = regexp.MustCompile(`(?s)(<!-- plain data: [^\n]*-->\n).*?(<!-- end of plain data -->)`)

// TestPlainDataDoc requires the table in docs/plain-data.md to have the commands on values
// by their groups. With -rewrite it writes it.
func TestPlainDataDoc(t *testing.T) {
	var groups []string
	names := map[string][]string{}
	for _, c := range commands.Table() {
		if c.Flags&spec.Plain == 0 {
			continue
		}
		if names[c.Group] == nil {
			groups = append(groups, c.Group)
		}
		names[c.Group] = append(names[c.Group], c.Name)
	}
	table := strings.Builder{}
	table.WriteString("| group | commands |\n|---|---|\n")
	for _, group := range groups {
		fmt.Fprintf(&table, "| %s | `%s` |\n", group, strings.Join(names[group], " "))
	}
	generated(t, "docs/plain-data.md", plainTable, table.String())
}

// generated requires the part of a page within a pattern's two groups to be a text. With
// -rewrite it writes the page.
func generated(t *testing.T, name string, part *regexp.Regexp, want string) {
	t.Helper()
	text := readPage(t, name)
	page := part.ReplaceAllString(text, "${1}"+strings.ReplaceAll(want, "$", "$$")+"${2}")
	switch {
	case !part.MatchString(text):
		t.Errorf("%s has no generated part", name)
	case page == text:
	case rewrite.Value.String() == "true":
		if err := os.WriteFile(root+name, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s differs from the command table: go test ./cmd/limitsrv -run %s -rewrite", name, t.Name())
	}
}

// commandTable is between the two comments that say so.
var commandTable = regexp.MustCompile(`(?s)(<!-- commands: [^\n]*-->\n).*?(<!-- end of commands -->)`)

// TestCommandsDoc requires the table in docs/commands.md to be the command table. With
// -rewrite it writes it.
func TestCommandsDoc(t *testing.T) {
	var table strings.Builder
	others := map[string][]string{}
	var groups []string
	table.WriteString("| command | summary | cost |\n|---|---|---|\n")
	for _, c := range commands.Table() {
		if c.Group == spec.LimiterGroup || strings.HasPrefix(c.Name, "RL.") {
			usage := strings.TrimSpace(c.Name + " " + c.Args)
			fmt.Fprintf(&table, "| `%s` | %s | %s |\n", strings.ReplaceAll(usage, "|", "\\|"), c.Summary, c.Complexity)
			continue
		}
		if others[c.Group] == nil {
			groups = append(groups, c.Group)
		}
		others[c.Group] = append(others[c.Group], c.Name)
	}
	table.WriteString("\nAnd of Redis: ")
	for i, g := range groups {
		if i > 0 {
			table.WriteString("; ")
		}
		fmt.Fprintf(&table, "%s `%s`", g, strings.Join(others[g], " "))
	}
	table.WriteString(".\n")
	generated(t, "docs/commands.md", commandTable, table.String())
}
