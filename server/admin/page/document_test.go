package page

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"limitsrv/docs"
)

func TestRender(t *testing.T) {
	got := render("# A `b` & <c>\n\ntext **strong** and [one](#two-parts), [file](x.md#y)\nmore\n\n" +
		"| h | `i` |\n|---|---|\n| 1 | <b> |\n\n" +
		"## Two parts?\n- one `a|b`\n- two\n\n" +
		"```sh\na < b  # `no`\n<!-- d\n- c\n```\n<!-- new session -->\n<!-- e\n```sh\nf\n```\n-->\nend")
	want := `<h1 id="a-b--c">A <code>b</code> &amp; &lt;c&gt;</h1>
<p>text <strong>strong</strong> and <a href="#two-parts">one</a>, file
more
</p>
<table>
<thead><tr><th>h</th><th><code>i</code></th></tr></thead><tbody>
<tr><td>1</td><td>&lt;b&gt;</td></tr>
</tbody></table>
<h2 id="two-parts">Two parts?</h2>
<ul>
<li>one <code>a|b</code></li>
<li>two</li>
</ul>
<pre tabindex="0"><code>a &lt; b  # ` + "`no`" + `
&lt;!-- d
- c
</code></pre>
<p>end
</p>
`
	if got != documentHead+want+documentTail {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestDocument requires the links in the rendered document, and the next steps of problems, to lead to
// its headings, and its tags to be balanced.
func TestDocument(t *testing.T) {
	text := render(string(docs.Troubleshooting))
	ids := attributes(text, "id")
	links := attributes(text, `a href="#`)
	if len(ids) < 10 || len(links) < 10 {
		t.Errorf("%d headings and %d links, want more", len(ids), len(links))
	}
	problems, err := files.ReadFile("files/status.js")
	if err != nil {
		t.Fatal(err)
	}
	steps := regexp.MustCompile(`section(?:: | = )"([^"]*)"`).FindAllStringSubmatch(string(problems), -1)
	if len(steps) < 7 {
		t.Errorf("%d problems have a next step, want more", len(steps))
	}
	for _, step := range steps {
		links = append(links, step[1])
	}
	for _, link := range links {
		if !slices.Contains(ids, link) {
			t.Errorf("#%s leads nowhere", link)
		}
	}
	var open []string
	for _, tag := range regexp.MustCompile(`<(/?)([a-z0-9]+)[^>]*>`).FindAllStringSubmatch(text, -1) {
		switch {
		case slices.Contains([]string{"meta", "link"}, tag[2]):
		case tag[1] == "":
			open = append(open, tag[2])
		case len(open) == 0 || open[len(open)-1] != tag[2]:
			t.Fatalf("%s ends within %q", tag[0], open)
		default:
			open = open[:len(open)-1]
		}
	}
	if strings.Contains(text, "```") || strings.Contains(text, "](") {
		t.Error("marks remain")
	}
}

// attributes returns the values of an attribute, or those after its beginning.
func attributes(text, name string) (all []string) {
	if !strings.Contains(name, `"`) {
		name += `="`
	}
	for _, found := range regexp.MustCompile(regexp.QuoteMeta(name)+`([^"]*)"`).FindAllStringSubmatch(text, -1) {
		all = append(all, found[1])
	}
	return all
}
