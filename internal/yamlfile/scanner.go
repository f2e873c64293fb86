package yamlfile

import "strings"

// A scanner goes through a part of a text.
type scanner struct {
	text   string
	at     int // the place in the text
	end    int // of the part
	begin  int // of the line
	line   int // from 1
	column int // of the first byte of the line that is not a space, or -1 at the end
	failed bool
}

// part starts a part of the text, at the start of a line.
func (s *scanner) part(from, to, line int) {
	s.at, s.begin, s.end, s.line = from, from, to, line
}

// lineEnd returns the index of the end of a line in a text.
func lineEnd(text string, from int) int {
	if n := strings.IndexByte(text[from:], '\n'); n >= 0 {
		return from + n
	}
	return len(text)
}

// peek returns the byte ahead bytes after the current place, or a line end if that is after
// the part.
func (s *scanner) peek(ahead int) byte {
	if i := s.at + ahead; i < s.end {
		return s.text[i]
	}
	return '\n'
}

// next goes from the end of a line, or the start of a part, to the first byte of the next line
// that is neither empty nor a comment.
func (s *scanner) next() {
	for ; s.at < s.end; s.at = lineEnd(s.text[:s.end], s.at) {
		if s.text[s.at] == '\n' {
			s.at++
			s.line++
			s.begin = s.at
		}
		s.spaces()
		if c := s.peek(0); c != '\n' && c != '#' {
			s.column = s.at - s.begin
			return
		}
	}
	s.begin, s.column = s.end, -1
}

func (s *scanner) spaces() {
	for s.at < s.end && s.text[s.at] == ' ' {
		s.at++
	}
}

// atEnd reports whether only spaces and a comment follow in the line, and goes to its end then.
func (s *scanner) atEnd() bool {
	from := s.at
	s.spaces()
	switch {
	case s.peek(0) == '\n':
		return true
	case s.peek(0) == '#' && (s.at > from || from == s.begin || s.text[from-1] == ' '):
		s.at = lineEnd(s.text[:s.end], s.at)
		return true
	}
	return false
}

// atDash reports whether an item of a list in block style begins here.
func (s *scanner) atDash() bool { return s.peek(0) == '-' && isBlank(s.peek(1)) }

// atColon reports whether a value follows.
func (s *scanner) atColon() bool { return s.peek(0) == ':' && isBlank(s.peek(1)) }

func isBlank(c byte) bool { return c == ' ' || c == '\n' }

// The parts that bytes have in plain scalars.
const (
	noStart  = 1 << iota // a plain scalar cannot start with it
	endsFlow             // it ends a plain scalar in flow style
	mayEnd               // it may end a plain scalar: a colon, a space or a line end
)

var plainBytes = func() (table [256]byte) {
	for _, c := range "-?:,[]{}#&*!|>'\"%@`< \n" {
		table[c] = noStart
	}
	for _, c := range ",?[]{}" {
		table[c] |= endsFlow
	}
	for _, c := range ": \n" {
		table[c] |= mayEnd
	}
	return table
}()

// plain reads a plain scalar in a line.
func (s *scanner) plain(flow bool) (text string, ok bool) {
	first := s.peek(0)
	if plainBytes[first]&noStart != 0 && (first != '-' || plainBytes[s.peek(1)] != 0) {
		return "", false
	}
	stop := byte(mayEnd)
	if flow {
		stop |= endsFlow
	}
	from := s.at
	for ; s.at < s.end; s.at++ {
		c := s.text[s.at]
		if plainBytes[c]&stop == 0 {
			continue
		}
		if c == ' ' {
			to := s.at
			s.spaces()
			if c = s.peek(0); c == '#' || c == '\n' || s.atColon() || flow && plainBytes[c]&endsFlow != 0 {
				return s.text[from:to], !s.atColon()
			}
			s.at--
			continue
		}
		if c == ':' && !isBlank(s.peek(1)) {
			continue
		}
		break
	}
	return s.text[from:s.at], true
}

// quoted reads a scalar in quotes in a line, without escapes.
func (s *scanner) quoted() (text string, ok bool) {
	quote, from := s.text[s.at], s.at+1
	for s.at++; s.at < s.end; s.at++ {
		switch c := s.text[s.at]; {
		case c == quote:
			text = s.text[from:s.at]
			s.at++
			return text, quote != '\'' || s.peek(0) != quote
		case c == '\n' || c == '\\' && quote == '"':
			return "", false
		}
	}
	return "", false
}
