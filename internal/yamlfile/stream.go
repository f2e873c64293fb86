package yamlfile

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"limitsrv/internal/pace"
)

// A Stream reads a text in plain YAML, the form that most people and programs write: block
// mappings and lists, flow mappings and lists, scalars in a line, plain or in quotes without
// escapes, comments, and documents that start with a line of ---. Anything else, and an error
// in the text, ends the Stream: the caller must then take Roots.
//
// Its nodes have the Kind, Style, Tag, Value, Line and Content of the nodes of Roots, and no
// columns and comments. Strings in them are parts of a single copy of the text. The items of
// long lists are read when they are asked for, into the same memory again and again. Cost:
// about a tenth of the cost of Roots. Concurrency: one goroutine may use a Stream.
type Stream struct {
	scanner
	pool  pool
	long  []string   // the words of roots with long lists
	lists []longList // of the document
	left  int        // long lists that were not read yet
	pace  pace.Pace
}

// A longList is a list that is read in parts.
type longList struct {
	node           *yaml.Node
	from, to, line int // of its text; the line of from
	column, items  int
}

// NewStream makes a [Stream] of a text. The lists of the words long of the root mappings
// are read by Items, if they are in block style.
func NewStream(text []byte, long ...string) *Stream {
	s := &Stream{long: long}
	if s.failed = !s.isPlainText(text); !s.failed {
		s.text = string(text)
	}
	return s
}

// isPlainText reports whether a text has lines of printable characters only.
func (s *Stream) isPlainText(text []byte) bool {
	for i := 0; i < len(text); {
		if i%256 == 0 {
			s.pace.Step()
		}
		if c := text[i]; c < utf8.RuneSelf {
			if c < ' ' && c != '\n' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError || r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r > 0xfffd && r < 0x10000 {
			return false
		}
		i += size
	}
	return true
}

// OK reports whether all that was read is plain YAML, and nothing was left out.
func (s *Stream) OK() bool { return !s.failed && s.left == 0 }

// documentMark is the line between documents.
const documentMark = "---"

// Roots yields the roots of the documents, as the function Roots does. Each root is valid
// until the next. Requires: the Stream is new.
func (s *Stream) Roots() iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		for from, line := 0, 1; from < len(s.text) && s.OK(); {
			to, next := from, len(s.text) // the end of the document, and the start of the next
			for to < len(s.text) {
				s.pace.Step()
				end := lineEnd(s.text, to)
				if line := s.text[to:end]; line == documentMark {
					next = min(end+1, len(s.text))
					break
				} else if strings.HasPrefix(line, documentMark) || strings.HasPrefix(line, "...") {
					s.fail()
					return
				}
				to = min(end+1, len(s.text))
			}
			s.part(from, to, line)
			s.pool.release(mark{})
			s.lists = s.lists[:0]
			if s.next(); s.column >= 0 {
				root := s.root()
				if s.failed || !yield(root) {
					return
				}
			}
			line += strings.Count(s.text[from:next], "\n")
			from = next
		}
	}
}

// root reads the mapping that is a document.
func (s *Stream) root() *yaml.Node {
	if s.column != 0 || s.atDash() {
		return s.fail()
	}
	return s.mapping(0, 1)
}

// Items returns the number of the items of a long list of the root, and yields them. Each
// item is valid until the next. ok is false for other nodes.
func (s *Stream) Items(list *yaml.Node) (n int, items iter.Seq[*yaml.Node], ok bool) {
	at := slices.IndexFunc(s.lists, func(l longList) bool { return l.node == list })
	if at < 0 {
		return 0, nil, false
	}
	l := s.lists[at]
	return l.items, func(yield func(*yaml.Node) bool) {
		s.part(l.from, l.to, l.line)
		s.next()
		for kept := s.pool.mark(); s.column >= 0; s.pool.release(kept) {
			if s.column != l.column || !s.atDash() {
				s.fail()
				return
			}
			if item := s.item(l.column, 2); s.failed || !yield(item) {
				return
			}
		}
		s.left--
	}, true
}

// longList notes a list that is read later, and skips it.
func (s *Stream) longList() *yaml.Node {
	l := longList{node: s.node(yaml.SequenceNode), from: s.begin, line: s.line, column: s.column}
	for s.column > l.column || s.column == l.column && s.atDash() {
		s.pace.Step()
		if s.column == l.column {
			l.items++
		}
		s.at = lineEnd(s.text[:s.end], s.at)
		s.next()
	}
	l.to = s.begin
	s.lists = append(s.lists, l)
	s.left++
	return l.node
}

// isLong reports whether the list of a word of the root is read in parts.
func (s *Stream) isLong(key *yaml.Node) bool { return slices.Contains(s.long, key.Value) }
