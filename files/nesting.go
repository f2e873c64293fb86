package files

// maxNesting bounds the open brackets, and the lists that begin at once: a YAML parser
// recurses for each, and its time grows with their square.
const maxNesting = 16

// NestedTooDeep returns the line of a YAML text at which more than maxNesting brackets
// are open, or more than maxNesting dashes follow each other with only comments between
// them; 0 if there is no such line. It also counts brackets in quotes and comments, so it
// never fails to detect nesting.
func NestedTooDeep(data []byte) (line int) {
	line = 1
	open, dashes, comment := 0, 0, false
	before := byte('\n')
	for _, c := range data {
		switch {
		case c == '\n' || c == '\r':
			line++
			comment = false
		case c == '[' || c == '{':
			open++
			dashes = 0
		case c == ']' || c == '}':
			open = max(0, open-1)
		case comment || isSpace(c):
		case (c == '-' || c == '?') && isSpace(before):
			dashes++
		case c == '#':
			comment = true
		default:
			dashes = 0
		}
		if open > maxNesting || dashes > maxNesting {
			return line
		}
		before = c
	}
	return 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
