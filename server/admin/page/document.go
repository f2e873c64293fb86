package page

import (
	"html"
	"regexp"
	"strings"
)

// render renders the document about symptoms as HTML: headings, tables, lists, blocks of code and
// paragraphs, as the documents of this project write them. Links to headings work; of links to other
// files only the text remains, because this server does not have the files.
func render(markdown string) string {
	r := renderer{}
	for line := range strings.Lines(markdown) {
		r.line(strings.TrimSuffix(line, "\n"))
	}
	r.open("")
	return documentHead + r.out.String() + documentTail
}

const (
	documentHead = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Troubleshooting · limitsrv</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="style.css">
</head>
<body>
<main class="document">
<p><a href="./">Back to the page of this server</a></p>
`
	documentTail = "</main>\n</body>\n</html>\n"
)

// A renderer has the HTML of the lines so far.
type renderer struct {
	out    strings.Builder
	within string // the element that is open: pre, ul, table, p, or "" for no element, or "comment"
}

// open ends the open element and begins another, unless it is the same; "" begins no element.
func (r *renderer) open(element string) {
	if r.within == element {
		return
	}
	end := map[string]string{"pre": "</code></pre>\n", "ul": "</ul>\n", "table": "</tbody></table>\n", "p": "</p>\n"}
	begin := map[string]string{"pre": `<pre tabindex="0"><code>`, "ul": "<ul>\n", "table": "<table>\n", "p": "<p>"}
	r.out.WriteString(end[r.within])
	r.out.WriteString(begin[element])
	r.within = element
}

// line renders a line.
func (r *renderer) line(text string) {
	level := len(text) - len(strings.TrimLeft(text, "#"))
	switch {
	case r.within == "comment" || r.within != "pre" && strings.HasPrefix(text, "<!--"):
		if r.open("comment"); strings.HasSuffix(text, "-->") {
			r.open("")
		}
	case strings.HasPrefix(text, "```"):
		if r.within == "pre" {
			r.open("")
		} else {
			r.open("pre")
		}
	case r.within == "pre":
		r.out.WriteString(html.EscapeString(text) + "\n")
	case text == "":
		r.open("")
	case level > 0:
		r.open("")
		title, tag := strings.TrimSpace(text[level:]), "h"+string(rune('0'+level))
		r.out.WriteString("<" + tag + ` id="` + anchor(title) + `">` + inline(title) + "</" + tag + ">\n")
	case strings.HasPrefix(text, "- "):
		r.open("ul")
		r.out.WriteString("<li>" + inline(text[2:]) + "</li>\n")
	case strings.HasPrefix(text, "|"):
		r.row(strings.Split(strings.Trim(text, "|"), "|"))
	default:
		r.open("p")
		r.out.WriteString(inline(text) + "\n")
	}
}

// row renders a row of a table; the first row has the heads.
func (r *renderer) row(cells []string) {
	tag, before, after := "td", "", ""
	if r.within != "table" {
		r.open("table")
		tag, before, after = "th", "<thead>", "</thead><tbody>"
	} else if strings.Trim(cells[0], "- ") == "" {
		return
	}
	r.out.WriteString(before + "<tr>")
	for _, cell := range cells {
		r.out.WriteString("<" + tag + ">" + inline(strings.TrimSpace(cell)) + "</" + tag + ">")
	}
	r.out.WriteString("</tr>" + after + "\n")
}

// anchor returns the id of a heading, as GitHub makes it.
func anchor(title string) string {
	return strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// marks are code, links and strong text.
var marks = regexp.MustCompile("`([^`]+)`|\\[([^\\]]+)\\]\\(([^)]+)\\)|\\*\\*([^*]+)\\*\\*")

// inline renders the marks in a line.
func inline(text string) string {
	var out strings.Builder
	at := 0
	for _, m := range marks.FindAllStringSubmatchIndex(text, -1) {
		part := func(group int) string { return html.EscapeString(text[m[2*group]:m[2*group+1]]) }
		out.WriteString(html.EscapeString(text[at:m[0]]))
		switch at = m[1]; {
		case m[2] >= 0:
			out.WriteString("<code>" + part(1) + "</code>")
		case m[8] >= 0:
			out.WriteString("<strong>" + part(4) + "</strong>")
		case text[m[6]] == '#':
			out.WriteString(`<a href="` + part(3) + `">` + inline(text[m[4]:m[5]]) + "</a>")
		default:
			out.WriteString(inline(text[m[4]:m[5]]))
		}
	}
	out.WriteString(html.EscapeString(text[at:]))
	return out.String()
}
