package yamlfile

import "go.yaml.in/yaml/v3"

// Bounds of plain YAML.
const (
	// maxLevels bounds the nesting.
	maxLevels = 60
	// maxKeyBytes bounds the words of mappings. The YAML reader takes 1024 characters.
	maxKeyBytes = 512
)

// The functions below read a node, from its first byte to the first byte of the line after
// the node if it is in block style, and otherwise to its last byte. nil, with s.failed: it
// is not plain.

func (s *Stream) fail() *yaml.Node {
	s.failed = true
	return nil
}

// node makes a node at the current line.
func (s *Stream) node(kind yaml.Kind) *yaml.Node {
	n := s.pool.node()
	n.Kind, n.Line = kind, s.line
	switch kind {
	case yaml.MappingNode:
		n.Tag = "!!map"
	case yaml.SequenceNode:
		n.Tag = "!!seq"
	}
	return n
}

// block reads a mapping or list in block style that begins at a column.
func (s *Stream) block(column, level int) *yaml.Node {
	switch {
	case level > maxLevels:
		return s.fail()
	case s.atDash():
		return s.list(column, level)
	case s.peek(0) == '[' || s.peek(0) == '{':
		return s.endLine(s.flow(level), column-1)
	}
	return s.mapping(column, level)
}

// mapping reads a mapping in block style.
func (s *Stream) mapping(column, level int) *yaml.Node {
	n, mark := s.node(yaml.MappingNode), len(s.pool.open)
	for {
		key := s.key(false)
		if key == nil {
			return nil
		}
		s.at++ // the colon
		s.pool.push(key)
		var value *yaml.Node
		if list := s.lineIsEmpty(); list && level == 1 && s.atDash() && s.isLong(key) {
			value = s.longList()
		} else if list {
			value = s.below(key.Line, column, level, true)
		} else {
			value = s.inLine(column, level)
		}
		if s.pool.push(value); s.failed || s.column > column {
			return s.fail()
		}
		if s.column < column {
			s.pool.end(n, mark)
			return n
		}
	}
}

// key reads a word of a mapping, up to the colon.
func (s *Stream) key(flow bool) *yaml.Node {
	if n := s.scalar(flow); n != nil && s.atColon() && len(n.Value) <= maxKeyBytes {
		return n
	}
	return s.fail()
}

// list reads a list in block style.
func (s *Stream) list(column, level int) *yaml.Node {
	n, mark := s.node(yaml.SequenceNode), len(s.pool.open)
	for s.column == column && s.atDash() {
		if s.pool.push(s.item(column, level+1)); s.failed || s.column > column {
			return s.fail()
		}
	}
	s.pool.end(n, mark)
	return n
}

// item reads an item of a list in block style, from its dash.
func (s *Stream) item(column, level int) *yaml.Node {
	line := s.line
	s.at++ // the dash
	if s.lineIsEmpty() {
		return s.below(line, column, level, false)
	}
	s.spaces()
	if from := s.at; s.peek(0) != '[' && s.peek(0) != '{' {
		if s.scalar(false) == nil {
			return nil
		}
		isKey := s.atColon()
		if s.at = from; isKey {
			s.column = from - s.begin
			return s.mapping(s.column, level)
		}
	}
	return s.inLine(column, level)
}

// lineIsEmpty reports whether nothing but a comment follows in the line, and goes to the next
// line then.
func (s *Stream) lineIsEmpty() bool {
	if !s.atEnd() {
		return false
	}
	s.next()
	return true
}

// below reads the value of a word or of a dash in a column that is in the lines below it, or
// null. The items of the list of a word may be as far left as the word.
func (s *Stream) below(line, column, level int, word bool) *yaml.Node {
	if s.column > column || word && s.column == column && s.atDash() {
		return s.block(s.column, level+1)
	}
	n := s.node(yaml.ScalarNode)
	n.Tag, n.Line = "!!null", line
	return n
}

// inLine reads the value of a word or of a dash in a column that follows in its line.
func (s *Stream) inLine(column, level int) *yaml.Node {
	s.spaces()
	return s.endLine(s.value(level, false), column)
}

// endLine goes to the next line, which must not continue the value of a word or of a dash in
// a column.
func (s *Stream) endLine(n *yaml.Node, column int) *yaml.Node {
	if n == nil || !s.lineIsEmpty() || s.column > column {
		return s.fail()
	}
	return n
}

// scalar reads a scalar in a line.
func (s *Stream) scalar(flow bool) *yaml.Node {
	n, ok := s.node(yaml.ScalarNode), false
	switch s.peek(0) {
	case '"':
		n.Value, ok = s.quoted()
		n.Style, n.Tag = yaml.DoubleQuotedStyle, "!!str"
	case '\'':
		n.Value, ok = s.quoted()
		n.Style, n.Tag = yaml.SingleQuotedStyle, "!!str"
	default:
		n.Value, ok = s.plain(flow)
		n.Tag = plainTag(n)
	}
	if !ok {
		return s.fail()
	}
	return n
}

// plainTag returns the tag of a plain scalar.
func plainTag(n *yaml.Node) string {
	for i := range len(n.Value) {
		switch c := n.Value[i]; {
		case c == '/':
			return "!!str" // in no number, time, boolean or null
		case i == 0 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
			switch c | 0x20 {
			case 'y', 'n', 't', 'f', 'o':
			default:
				return "!!str" // it begins no word with a meaning
			}
		}
	}
	return n.ShortTag()
}

// flow reads a mapping or list in flow style, which may have several lines.
func (s *Stream) flow(level int) *yaml.Node {
	if level > maxLevels {
		return s.fail()
	}
	kind, last := yaml.SequenceNode, byte(']')
	if s.peek(0) == '{' {
		kind, last = yaml.MappingNode, '}'
	}
	n, mark := s.node(kind), len(s.pool.open)
	n.Style = yaml.FlowStyle
	s.at++
	s.lines()
	for first := true; first && s.peek(0) != last || !first && s.peek(0) == ','; first = false {
		if !first {
			s.at++
			s.lines()
		}
		if kind == yaml.MappingNode {
			key := s.key(true)
			if key == nil {
				return nil
			}
			s.pool.push(key)
			s.at++ // the colon
			s.lines()
		}
		if s.pool.push(s.value(level, true)); s.failed {
			return nil
		}
		s.lines()
	}
	if s.at == s.end || s.peek(0) != last {
		return s.fail()
	}
	s.at++
	s.pool.end(n, mark)
	return n
}

// value reads a scalar, or a node in flow style. flow: it is within another one.
func (s *Stream) value(level int, flow bool) *yaml.Node {
	if c := s.peek(0); c == '[' || c == '{' {
		return s.flow(level + 1)
	}
	return s.scalar(flow)
}

// lines goes over spaces and line ends.
func (s *scanner) lines() {
	for s.spaces(); s.at < s.end && s.text[s.at] == '\n'; s.spaces() {
		s.at++
		s.line++
		s.begin = s.at
	}
}
