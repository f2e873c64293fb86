package syntax

import "limitsrv/commands/scripts/lua/number"

func (l *lexer) scanNumber() token {
	start := l.at
	for c := l.peekByte(0); isDigit(c) || c == '.'; c = l.peekByte(0) {
		l.at++
	}
	if c := l.peekByte(0); c == 'e' || c == 'E' {
		l.at++
		if c := l.peekByte(0); c == '+' || c == '-' {
			l.at++
		}
	}
	for c := l.peekByte(0); isDigit(c) || isLetter(c); c = l.peekByte(0) {
		l.at++
	}
	l.buffer = append(l.buffer[:0], l.source[start:l.at]...)
	x, ok := number.Parse(l.buffer)
	if !ok {
		l.fail("malformed number", numberToken)
	}
	return token{kind: numberToken, number: x}
}

// scanString reads a string between quotes.
func (l *lexer) scanString(quote byte) token {
	l.buffer = append(l.buffer[:0], quote)
	l.at++
	for {
		switch c := l.peekByte(0); c {
		case end:
			l.fail("unfinished string", endOfSource)
		case '\n', '\r':
			l.fail("unfinished string", stringToken)
		case '\\':
			l.at++
			l.scanEscape()
		default:
			l.buffer = append(l.buffer, byte(c))
			l.at++
			if byte(c) == quote {
				return token{kind: stringToken, text: string(l.buffer[1 : len(l.buffer)-1])}
			}
		}
	}
}

// escapes are the letters of escape sequences and their bytes.
var escapes = map[int]byte{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// scanEscape reads an escape sequence after the backslash.
func (l *lexer) scanEscape() {
	c := l.peekByte(0)
	switch {
	case c == end: // the loop of scanString reports it
	case c == '\n' || c == '\r':
		l.buffer = append(l.buffer, '\n')
		l.newLine()
	case isDigit(c):
		n := 0
		for i := 0; i < 3 && isDigit(l.peekByte(0)); i++ {
			n = 10*n + l.peekByte(0) - '0'
			l.at++
		}
		if n > 255 {
			l.fail("escape sequence too large", stringToken)
		}
		l.buffer = append(l.buffer, byte(n))
	default:
		b := byte(c)
		if known, ok := escapes[c]; ok {
			b = known
		}
		l.buffer = append(l.buffer, b)
		l.at++
	}
}

// scanBracket reads a bracket or a long string.
func (l *lexer) scanBracket() token {
	l.buffer = l.buffer[:0]
	level, ok := l.longBracket('[')
	switch {
	case ok:
		return token{kind: stringToken, text: l.scanLong(level, "unfinished long string")}
	case level == 0:
		l.at++
		return token{kind: '['}
	}
	l.at += 1 + level
	l.fail("invalid long string delimiter", stringToken)
	panic("unreachable")
}

// longBracket counts the equal signs after a bracket, and reports whether another bracket
// follows. If so it fills the buffer with them and skips them.
func (l *lexer) longBracket(bracket int) (level int, ok bool) {
	for l.peekByte(1+level) == '=' {
		level++
	}
	ok = l.peekByte(1+level) == bracket
	n := 1 + level
	if ok {
		n++
	}
	l.buffer = append(l.buffer, l.source[l.at:l.at+n]...)
	if ok {
		l.at += n
	}
	return level, ok
}

// scanLong reads a long string or comment after its opening bracket.
func (l *lexer) scanLong(level int, unfinished string) string {
	if c := l.peekByte(0); c == '\n' || c == '\r' {
		l.newLine()
	}
	start := len(l.buffer)
	for {
		switch c := l.peekByte(0); c {
		case end:
			l.fail(unfinished, endOfSource)
		case ']':
			before := len(l.buffer)
			if closing, ok := l.longBracket(']'); ok && closing == level {
				text := string(l.buffer[start:before])
				return text
			} else if ok {
				l.at-- // the second bracket may start the closing bracket
				l.buffer = l.buffer[:len(l.buffer)-1]
			} else {
				l.at += 1 + closing
			}
		case '\n', '\r':
			l.buffer = append(l.buffer, '\n')
			l.newLine()
		default:
			l.buffer = append(l.buffer, byte(c))
			l.at++
		}
	}
}

// skipComment skips a comment after its two dashes.
func (l *lexer) skipComment() {
	if l.peekByte(0) == '[' {
		l.buffer = l.buffer[:0]
		if level, ok := l.longBracket('['); ok {
			l.scanLong(level, "unfinished long comment")
			return
		}
	}
	for c := l.peekByte(0); c != end && c != '\n' && c != '\r'; c = l.peekByte(0) {
		l.at++
	}
}
