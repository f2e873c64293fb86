// Package yamlfile reads YAML files of operators into nodes with their lines: the rules, the
// users and the options. A reader of nodes checks them itself, so that each mistake has a line.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A SyntaxError is an error in the form of a text.
type SyntaxError struct {
	Line int    // from 1; 1 if it is unknown
	Text string // a line
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Text) }

// Unquoted returns Text without its quotations, which may be passwords.
func (e *SyntaxError) Unquoted() string { return quoted.ReplaceAllString(e.Text, "$1") }

// Roots yields the roots of the documents of a text, without empty documents. An error is a
// *SyntaxError and the last. No node has a nil Alias, Content of a mapping is keys and values in
// turn, and names that are there twice are no error. Cost: about 250 bytes of memory and a
// microsecond for each node; lists and mappings nested 10 000 levels deep are an error.
func Roots(text []byte) iter.Seq2[*yaml.Node, error] {
	return func(yield func(*yaml.Node, error) bool) {
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var doc yaml.Node
			err := decode(decoder, &doc)
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(nil, syntaxError(text, err))
				return
			case len(doc.Content) == 0 || IsNull(doc.Content[0]) && doc.Content[0].Value == "":
				continue // "---" at the end of a file
			case !yield(doc.Content[0], nil):
				return
			}
		}
	}
}

// decode reads the next document. A panic of the YAML reader on bytes from outside is an
// error like any other.
func decode(d *yaml.Decoder, to *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("yaml: not readable")
		}
	}()
	return d.Decode(to)
}

var (
	// lineOf matches the line in an error of the YAML reader.
	lineOf = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)
	// early matches errors with a line that is counted from 0.
	early = regexp.MustCompile(`^did not find expected (?:',' or|'-' indicator|key|node content|<)`)
	// unknown matches the error of an alias, which has no line.
	unknown = regexp.MustCompile(`^unknown anchor '([^']*)'`)
	// quoted matches its quotations.
	quoted = regexp.MustCompile("(anchor) '[^']*'|`.*`")
)

// syntaxError returns an error of the YAML reader about a text.
func syntaxError(of []byte, err error) *SyntaxError {
	text, line := err.Error(), 1
	if m := lineOf.FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if n, err := strconv.Atoi(m[1]); err == nil {
			if line = max(1, n); early.MatchString(text) {
				line++
			}
		}
	}
	if m := unknown.FindStringSubmatch(text); m != nil {
		before, _, _ := bytes.Cut(of, []byte("*"+m[1]))
		line += bytes.Count(before, []byte("\n"))
	}
	text, _, _ = strings.Cut(text, "\n")
	return &SyntaxError{line, text}
}

// IsNull reports whether a node is null, written as a word or as nothing.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// IsText reports whether a node is text: a number, a boolean or null must be in quotes.
func IsText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.Tag == "!!str" || n.Tag == "!!timestamp" && n.Style&yaml.TaggedStyle == 0)
}
