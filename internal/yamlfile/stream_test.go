package yamlfile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"limitsrv/internal/testing/testwait"
)

// wholeText returns the documents of a text as Roots has them, and false if it has an error.
func wholeText(text string) (docs []string, ok bool) {
	for root, err := range Roots([]byte(text)) {
		if err != nil {
			return nil, false
		}
		var b strings.Builder
		write(&b, root, 0)
		docs = append(docs, b.String())
	}
	return docs, true
}

// streamed returns the documents of a text as a Stream has them, and false if it is not plain.
func streamed(text string) (docs []string, ok bool) {
	s := NewStream([]byte(text), "rules", "descriptors")
	for root := range s.Roots() {
		type part struct {
			node  *yaml.Node
			items string
		}
		var lists []part
		for i := 1; i < len(root.Content); i += 2 {
			list := root.Content[i]
			if n, items, ok := s.Items(list); ok {
				var b strings.Builder
				for item := range items {
					write(&b, item, 2)
					n--
				}
				if n != 0 && !s.failed {
					panic(fmt.Sprintf("%d items are missing", n))
				}
				lists = append(lists, part{list, b.String()})
			}
		}
		var b strings.Builder
		write(&b, root, 0)
		doc := b.String()
		for _, l := range lists { // the only lists in block style that are empty
			var own strings.Builder
			write(&own, l.node, 1)
			doc = strings.Replace(doc, own.String(), own.String()+l.items, 1)
		}
		docs = append(docs, doc)
	}
	return docs, s.OK()
}

// write writes a node, and those below it, each in a line.
func write(b *strings.Builder, n *yaml.Node, level int) {
	fmt.Fprintf(b, "%*sline %d kind %d style %d %s %q %q\n", level, "", n.Line, n.Kind, n.Style, n.Tag, n.Value, n.Anchor)
	if n.Kind == yaml.AliasNode {
		return // it may stand for a node that it is in
	}
	for _, c := range n.Content {
		write(b, c, level+1)
	}
}

// sameDocuments requires that a Stream reads a text as Roots does, or leaves it to Roots.
func sameDocuments(t *testing.T, text string) (plain bool) {
	t.Helper()
	got, plain := streamed(text)
	if !plain {
		return false
	}
	if want, ok := wholeText(text); !ok || !slices.Equal(got, want) {
		t.Errorf("text %q:\n got %s\nwant %s, valid %v", text, strings.Join(got, "--\n"), strings.Join(want, "--\n"), ok)
	}
	return true
}

// plainTexts are texts that a Stream reads.
var plainTexts = []string{
	"", "# only a comment\n", "\n\n", "a: b\n", "a: b", "a:\n", "a:", "a: # no value\nb: c\n",
	"# first\na: b # second\n  # third\nc: d\n# last",
	"a: b\n---\nc: d\n---\n", "---\na: b\n", "# c\n---\n\n---\na: b",
	"rules:\n- a\n- b: c\n  d: e\n-\n- {f: g}\nx: y\n",
	"rules:\n  - a\n\n  # c\n  - b: c\n    d:\n    - e\n    - f\n    g: [h,\n     i]\nx: y\n",
	"rules: []\ndescriptors: {}\n",
	"rules:\n  - {name: r1, match: {path: /p1, method: [GET, POST]}, per: [ip], limits: [5/m, 50/day]} # c\n",
	"descriptors:\n  - key: tenant\n    value: t0\n    rate_limit:\n      unit: hour\n      requests_per_unit: 010\n    " +
		"descriptors:\n      - {key: path}\n      - key: path\n",
	"a: {\n  b: c,\n  d: [\ne,\n  f ],\n  g: {}}\n",
	"a:\n  [b, c]\nd:\n  {e: f}\n",
	"a: 1\nb: 0x1F\nc: 1_000\nd: yes\ne: ~\nf: null\ng: 1.5\nh: .5\ni: 2001-01-01\nj: -7\nk: .inf\nl: +1\nm: true\nn: " +
		"NULL\no: 1:20\np: off\nq: 2001-01-01 10:00:00\nr: 10/s token burst 20\ns: .nan\n",
	"a: 'b: #c'\n\"d e\": \"f, [g]\"\n'': \"\"\ni: a#b\nj: a:b\nk: http://x/y?z=[1]{2}\nl: X-Forwarded-For[-1]\n",
	"a: [2001:db8::/32, a:b, 'x', \"y\", -1, .5, 5 at once ttl 1s]\n",
	"a: ä\nb: 'ö ü'\nc: 漢字 😀\n",
	"a:\n  -\n  - \n  - b:\n    c:\n",
	"a:\n  b:\n  - c\n  - d\n  e: f\n",
}

// otherTexts are texts that a Stream leaves to Roots: some are valid.
var otherTexts = []string{
	"a: &x b\nc: *x\n", "<<: {a: b}\n", "a: !!str b\n", "a: |\n  b\n", "a: >-\n  b\n", "? a\n: b\n",
	"%YAML 1.1\n---\na: b\n", "a: b\n...\n", "--- a\n",
	"[a, b]\n", "- a\n", "a\n", "  a: b\n", "a: b\n c: d\n", "a: b\n  c\n", "a: 'b\n  c'\n", "a: \"\\n\"\n", "a: 'b''c'\n",
	"a: b: c\n", "a:\tb\n", "a: b\r\n", "\ufeffa: b\n",
	"a: [b\n", "a: [b: c]\n", "a: [b,]\n", "a: {b}\n", "a: {b: }\n", "a: [b] c\n", "a: [b]: c\n", "a: [b # c\n]\n",
	"a: [b,#c\n]\n", "a: [b\nc]\n", "a : b\n", "a: - b\n", "- - a\n",
	"rules:\n  - - a\n", "rules:\n  - a\n b: c\n", "rules:\n  - a\n   - b\n", "rules:\n  - a\n  b: c\n",
	"rules:\n  - {a: b,\nc: d}\ne: f\n", "rules:\n  - 'a\nb'\nc: d\n", "rules:\n  - a: |\n  - b\nc: d\n",
	"rules:\n  - [a,\n  b]\n", "a: [b,\n... c]\n", "a:\n  - b\n  c: d\n", "a: @b\n", "a: `b\n", "a: \x00\n", "a: \xff\n",
	"a: b\u2028c\n", "a: b\u0085c\n",
	strings.Repeat("k", maxKeyBytes+1) + ": a\n", "a: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "\n",
}

func TestStreamLikeRoots(t *testing.T) {
	for _, text := range plainTexts {
		if !sameDocuments(t, text) {
			t.Errorf("not plain: %q", text)
		}
	}
	for _, text := range otherTexts {
		if sameDocuments(t, text) && !strings.HasPrefix(text, "rules:\n  - {a: b,\n") {
			t.Errorf("plain: %q", text)
		}
	}
}

// TestRandomStreamLikeRoots compares random texts: plain texts with some changed bytes.
func TestRandomStreamLikeRoots(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	w := writer{r: rand.New(rand.NewPCG(seed, 1))}
	plain := 0
	const texts = 1000
	for range texts {
		text := w.text()
		if sameDocuments(t, text) {
			plain++
		}
		for range 3 {
			at := w.r.IntN(len(text) + 1)
			cut := min(len(text), at+w.r.IntN(3))
			text = text[:at] + w.pick("", " ", "  ", "\n", "\n ", "-", "- ", ":", ": ", "#", " #", ",", "[", "]", "{", "}", "'",
				"\"", "*", "&a ", "|", "\t", "---\n", "\n---\n", "...", "? ", "a", "0", "<<", "!", "%", "\\") + text[cut:]
			sameDocuments(t, text)
		}
		if t.Failed() {
			return
		}
	}
	if plain < texts/4 {
		t.Errorf("%d of %d texts are plain", plain, texts)
	}
}

// A writer writes random texts that are plain mostly.
type writer struct {
	r *rand.Rand
	b strings.Builder
}

func (w *writer) pick(of ...string) string { return of[w.r.IntN(len(of))] }

func (w *writer) text() string {
	w.b.Reset()
	for i := range 1 + w.r.IntN(2) {
		if i > 0 || w.r.IntN(9) == 0 {
			w.b.WriteString("---\n")
		}
		w.mapping(0, 0)
	}
	return w.b.String()
}

func (w *writer) scalar() string {
	return w.pick("a", "b c", "/x/y", "5/m", "10", "010", "1_0", "yes", "null", "~", "1.5", "'q #: '", "\"p, [\"", "''",
		"a#b", "c:d", "::1", "x*y", "2001-01-01", "-1", ".5", "on", "é", "10/s token burst 20")
}

func (w *writer) flow(depth int) string {
	if depth > 2 || w.r.IntN(2) == 0 {
		return w.scalar()
	}
	between := w.pick(", ", ",", ",\n  ", ",\n")
	var parts []string
	mapping := w.r.IntN(2) == 0
	for range w.r.IntN(4) {
		part := w.flow(depth + 1)
		if mapping {
			part = w.pick("k", "'l'", "m n", "1") + ": " + part
		}
		parts = append(parts, part)
	}
	if mapping {
		return "{" + strings.Join(parts, between) + "}"
	}
	return "[" + strings.Join(parts, between) + "]"
}

func (w *writer) endLine() {
	w.b.WriteString(w.pick("\n", "\n", "\n", " \n", " # c\n", "\n\n", "\n    # c\n", "\n# c\n"))
}

func (w *writer) mapping(column, depth int) {
	for i := range 1 + w.r.IntN(4) {
		if i > 0 || w.b.Len() == 0 || strings.HasSuffix(w.b.String(), "\n") {
			w.b.WriteString(strings.Repeat(" ", column))
		}
		w.b.WriteString(w.pick("rules", "descriptors", "key", "\"a b\"", "on", "12") + ":")
		w.value(column, depth, true)
	}
}

func (w *writer) value(column, depth int, word bool) {
	kind := w.r.IntN(5)
	switch {
	case kind == 0:
		w.endLine()
	case kind < 3 || depth > 3:
		w.b.WriteString(" " + w.flow(0))
		w.endLine()
	case kind == 3:
		w.endLine()
		deeper := column + 1 + w.r.IntN(3)
		if word && w.r.IntN(2) == 0 {
			deeper = column
		}
		for range 1 + w.r.IntN(3) {
			w.b.WriteString(strings.Repeat(" ", deeper) + "-")
			if w.r.IntN(2) == 0 {
				w.b.WriteString(" ")
				w.mapping(deeper+2, depth+1)
			} else {
				w.value(deeper, depth+1, false)
			}
		}
	default:
		w.endLine()
		w.mapping(column+1+w.r.IntN(3), depth+1)
	}
}

// Any text is read as Roots reads it, or left to Roots.
func FuzzStream(f *testing.F) {
	for _, text := range slices.Concat(plainTexts, otherTexts) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sameDocuments(t, text) })
}
