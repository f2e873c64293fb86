package files

// maxNesting is how many brackets may be open, or lists begin at once: a parser of YAML
// calls itself for each, and its time grows with their square.
const maxNesting = 16

// NestedTooDeep is the line of a text that is to be YAML where more than maxNesting
// brackets are open, those in quotes and comments counted as well, so that it is never
// too late, or where more than so many dashes have come with nothing but comments
// between them; 0: nowhere.
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
