package syntax

import "fmt"

// A kind is the type of a token: its byte, or one of those below.
type kind int

const (
	endOfSource kind = iota + 256
	nameToken
	numberToken
	stringToken
	concatToken // ..
	dotsToken   // ...
	equalToken  // ==
	notEqualToken
	lessEqualToken
	greaterEqualToken
	firstKeyword
)

const (
	kwAnd = firstKeyword + iota
	kwBreak
	kwDo
	kwElse
	kwElseif
	kwEnd
	kwFalse
	kwFor
	kwFunction
	kwIf
	kwIn
	kwLocal
	kwNil
	kwNot
	kwOr
	kwRepeat
	kwReturn
	kwThen
	kwTrue
	kwUntil
	kwWhile
)

var keywordNames = [...]string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or",
	"repeat",
	"return", "then", "true", "until", "while",
}

var otherNames = map[kind]string{
	endOfSource: "<eof>", nameToken: "<name>", numberToken: "<number>", stringToken: "<string>", concatToken: "..",
	dotsToken:  "...",
	equalToken: "==", notEqualToken: "~=", lessEqualToken: "<=", greaterEqualToken: ">=",
}

// keywords maps the text of keywords to their kinds.
var keywords = func() map[string]kind {
	m := make(map[string]kind, len(keywordNames))
	for i, name := range keywordNames {
		m[name] = firstKeyword + kind(i)
	}
	return m
}()

// String returns the text of the token as errors quote it.
func (k kind) String() string {
	switch {
	case k >= firstKeyword:
		return keywordNames[k-firstKeyword]
	case k >= endOfSource:
		return otherNames[k]
	case k < ' ' || k == 127:
		return fmt.Sprintf("char(%d)", int(k))
	}
	return string([]byte{byte(k)})
}

// A token is a word of the source.
type token struct {
	kind   kind
	text   string // of a name or string
	number float64
}

// An Error is a violation of the syntax.
type Error struct {
	Chunk   string
	Line    int
	Message string
}

// Error returns the message after chunk and line.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.Chunk, e.Line, e.Message) }

// A lexer splits the source into tokens.
type lexer struct {
	chunk    string
	source   []byte
	at       int
	line     int
	lastLine int // of the last token that the parser took
	buffer   []byte
	current  token
	ahead    token
	hasAhead bool
}

// noToken is for errors that quote no token.
const noToken kind = 0

// fail panics with an Error near a token.
func (l *lexer) fail(message string, near kind) {
	if near != noToken {
		text := near.String()
		switch near {
		case nameToken, stringToken, numberToken:
			text = cString(l.buffer)
		}
		message = fmt.Sprintf("%s near '%s'", message, text)
	}
	panic(&Error{l.chunk, l.line, message})
}

// failHere panics with an Error near the current token.
func (l *lexer) failHere(message string) { l.fail(message, l.current.kind) }

// cString returns the bytes before the first zero.
func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// next takes the current token.
func (l *lexer) next() {
	l.lastLine = l.line
	if l.hasAhead {
		l.current, l.hasAhead = l.ahead, false
		return
	}
	l.current = l.scan()
}

// peek returns the kind of the token after the current token.
func (l *lexer) peek() kind {
	l.ahead, l.hasAhead = l.scan(), true
	return l.ahead.kind
}

// end is the byte after the source, as far as peekByte shows.
const end = -1

func (l *lexer) peekByte(distance int) int {
	if l.at+distance >= len(l.source) {
		return end
	}
	return int(l.source[l.at+distance])
}

// scan reads a token.
func (l *lexer) scan() token {
	for {
		c := l.peekByte(0)
		switch {
		case c == end:
			return token{kind: endOfSource}
		case c == '\n' || c == '\r':
			l.newLine()
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			l.at++
		case c == '-' && l.peekByte(1) == '-':
			l.at += 2
			l.skipComment()
		case isLetter(c):
			return l.scanName()
		case isDigit(c) || c == '.' && isDigit(l.peekByte(1)):
			return l.scanNumber()
		case c == '"' || c == '\'':
			return l.scanString(byte(c))
		case c == '[':
			return l.scanBracket()
		default:
			return token{kind: l.scanOperator(c)}
		}
	}
}

// newLine skips a line end of one byte, or of two different bytes.
func (l *lexer) newLine() {
	first := l.source[l.at]
	l.at++
	if c := l.peekByte(0); (c == '\n' || c == '\r') && c != int(first) {
		l.at++
	}
	l.line++
}

func (l *lexer) scanOperator(c int) kind {
	following := l.peekByte(1)
	var two kind
	switch {
	case c == '=' && following == '=':
		two = equalToken
	case c == '~' && following == '=':
		two = notEqualToken
	case c == '<' && following == '=':
		two = lessEqualToken
	case c == '>' && following == '=':
		two = greaterEqualToken
	case c == '.' && following == '.' && l.peekByte(2) == '.':
		l.at += 3
		return dotsToken
	case c == '.' && following == '.':
		two = concatToken
	default:
		l.at++
		return kind(c)
	}
	l.at += 2
	return two
}

func (l *lexer) scanName() token {
	start := l.at
	for c := l.peekByte(0); isLetter(c) || isDigit(c); c = l.peekByte(0) {
		l.at++
	}
	l.buffer = append(l.buffer[:0], l.source[start:l.at]...)
	text := string(l.buffer)
	if k, ok := keywords[text]; ok {
		return token{kind: k}
	}
	return token{kind: nameToken, text: text}
}

func isDigit(c int) bool  { return c >= '0' && c <= '9' }
func isLetter(c int) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' && c > 0 || c == '_' }
