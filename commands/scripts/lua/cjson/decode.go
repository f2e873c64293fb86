package cjson

import (
	"bytes"
	"unicode/utf8"

	"limitsrv/commands/scripts/lua"
	"limitsrv/commands/scripts/lua/number"
	"limitsrv/commands/scripts/lua/value"
)

// A token is a word of JSON. Its names are parts of errors.
type token string

const (
	objectBegin token = "T_OBJ_BEGIN"
	objectEnd   token = "T_OBJ_END"
	arrayBegin  token = "T_ARR_BEGIN"
	arrayEnd    token = "T_ARR_END"
	stringWord  token = "T_STRING"
	numberWord  token = "T_NUMBER"
	booleanWord token = "T_BOOLEAN"
	nullWord    token = "T_NULL"
	colon       token = "T_COLON"
	comma       token = "T_COMMA"
	textEnd     token = "T_END"
)

// Tokens of errors are their texts.
const (
	invalidToken   token = "invalid token"
	invalidNumber  token = "invalid number"
	invalidEscape  token = "invalid escape code"
	invalidUnicode token = "invalid unicode escape code"
	unfinished     token = "unexpected end of string"
)

// A decoder reads a text. A byte 0 ends it, as in C.
type decoder struct {
	st     *lua.State
	config *config
	text   []byte
	at     int
	depth  int
	places int

	// The current token.
	token token
	start int
	value value.Value
}

func decode(st *lua.State, c *config, args []value.Value) value.Value {
	if len(args) != 1 {
		st.ArgError(0, "expected 1 argument")
	}
	text := st.Text(args, 0)
	if len(text) >= 2 && (text[0] == 0 || text[1] == 0) {
		st.Errorf("JSON parser does not support UTF-16 or UTF-32")
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	st.Charge(len(text) / 16)
	d := decoder{st: st, config: c, text: text}
	d.next()
	v := d.parse()
	d.next()
	if d.token != textEnd {
		d.fail("the end")
	}
	return v
}

// fail raises an error about the current token.
func (d *decoder) fail(expected string) {
	d.st.Errorf("Expected %s but found %s at character %d", expected, string(d.token), d.start+1)
}

func (d *decoder) byteAt(i int) byte {
	if i < len(d.text) {
		return d.text[i]
	}
	return 0
}

// next reads a token.
func (d *decoder) next() {
	for d.at < len(d.text) &&
		(d.text[d.at] == ' ' || d.text[d.at] >= '\t' && d.text[d.at] <= '\n' || d.text[d.at] == '\r') {
		d.at++
	}
	d.start = d.at
	c := d.byteAt(d.at)
	if simple, ok := simpleTokens[c]; ok {
		d.token = simple
		if c != 0 {
			d.at++
		}
		return
	}
	switch {
	case c == '"':
		d.nextString()
	case c == '-' || c >= '0' && c <= '9':
		if !d.config.decodeInvalid && d.isInvalidNumber() {
			d.token = invalidNumber
			return
		}
		d.nextNumber()
	case d.word("true", booleanWord, value.True), d.word("false", booleanWord, value.False),
		d.word("null", nullWord, value.Null):
	case bytes.IndexByte([]byte("+iInN"), c) >= 0 && d.config.decodeInvalid && d.isInvalidNumber():
		d.nextNumber()
	default:
		d.token = invalidToken
	}
}

var simpleTokens = map[byte]token{'{': objectBegin, '}': objectEnd, '[': arrayBegin, ']': arrayEnd, ':': colon,
	',': comma, 0: textEnd}

// word reads a fixed word.
func (d *decoder) word(text string, t token, v value.Value) bool {
	if !bytes.HasPrefix(d.text[d.at:], []byte(text)) {
		return false
	}
	d.token, d.value = t, v
	d.at += len(text)
	return true
}

// isInvalidNumber reports whether a number starts here that JSON does not have: an
// infinity, nan, a hexadecimal number, or a number with a plus or a leading zero.
func (d *decoder) isInvalidNumber() bool {
	at := d.at
	switch d.byteAt(at) {
	case '+':
		return true
	case '-':
		at++
	}
	if c := d.byteAt(at); c == '0' {
		following := d.byteAt(at + 1)
		return following|0x20 == 'x' || following >= '0' && following <= '9'
	} else if c <= '9' {
		return false
	}
	rest := bytes.ToLower(d.text[at:min(len(d.text), at+3)])
	return string(rest) == "inf" || string(rest) == "nan"
}

func (d *decoder) nextNumber() {
	x, n := number.ParsePrefix(d.text[d.at:])
	d.st.Prepay(n / 8)
	if n == 0 {
		d.token = invalidNumber
		return
	}
	d.token, d.value = numberWord, value.Number(x)
	d.at += n
}

// nextString reads a string. Errors are at the byte where they are found.
func (d *decoder) nextString() {
	d.at++
	end := bytes.IndexAny(d.text[d.at:], `"\`)
	if end >= 0 && d.text[d.at+end] == '"' {
		d.token, d.value = stringWord, d.st.NewString(d.text[d.at:d.at+end])
		d.at += end + 1
		return
	}
	buffer, start := d.st.Buffer(), d.at
	for {
		if d.at >= len(d.text) {
			d.token, d.start = unfinished, d.at
			break
		}
		c := d.text[d.at]
		if c == '"' {
			d.at++
			d.token, d.value = stringWord, d.st.NewString(buffer)
			break
		}
		if c != '\\' {
			buffer = append(buffer, c)
			d.at++
			continue
		}
		var problem token
		if buffer, problem = d.escape(buffer); problem != "" {
			d.token, d.start = problem, d.at
			break
		}
	}
	d.st.Release(buffer)
	d.st.Charge((d.at - start) / 4)
}

// unescapes are the characters of the letters of escape sequences.
var unescapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 't': '\t', 'n': '\n', 'f': '\f', 'r': '\r'}

// escape appends an escape sequence. It returns an error as a token.
func (d *decoder) escape(buffer []byte) ([]byte, token) {
	letter := d.byteAt(d.at + 1)
	if letter != 'u' {
		c, ok := unescapes[letter]
		if !ok {
			return buffer, invalidEscape
		}
		d.at += 2
		return append(buffer, c), ""
	}
	point, n := d.hex(d.at+2), 6
	if point&0xF800 == 0xD800 && point >= 0 {
		low := d.hex(d.at + 8)
		if point&0x400 != 0 || d.byteAt(d.at+6) != '\\' || d.byteAt(d.at+7) != 'u' || low < 0 || low&0xFC00 != 0xDC00 {
			return buffer, invalidUnicode
		}
		point, n = (point&0x3FF)<<10+low&0x3FF+0x10000, 12
	}
	if point < 0 {
		return buffer, invalidUnicode
	}
	d.at += n
	return utf8.AppendRune(buffer, point), ""
}

// hex reads four hexadecimal digits. It returns -1 if there are no four digits.
func (d *decoder) hex(at int) rune {
	var n rune
	for i := range 4 {
		c := d.byteAt(at + i)
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			n = n<<4 | rune(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return n
}

// parse makes the value that begins with the current token.
func (d *decoder) parse() value.Value {
	d.st.Charge(2)
	switch d.token {
	case stringWord, numberWord, booleanWord, nullWord:
		return d.value
	case objectBegin:
		return d.parseObject()
	case arrayBegin:
		return d.parseArray()
	}
	d.fail("value")
	return value.Nil
}

// enter counts a nested table that takes places of the stack, and leave ends it.
func (d *decoder) enter(places int) {
	d.places += places
	if d.depth++; d.depth > d.config.decodeDepth || d.places > maxStack {
		d.st.Errorf("Found too many nested data structures (%d) at character %d", d.depth, d.at)
	}
}

func (d *decoder) leave(places int) {
	d.depth--
	d.places -= places
}

func (d *decoder) parseObject() value.Value {
	const places = 2
	d.enter(places)
	defer d.leave(places)
	t := d.st.Heap.NewTable(0, 0)
	d.next()
	for d.token != objectEnd {
		if d.token != stringWord {
			d.fail("object key string")
		}
		key := d.value
		if d.next(); d.token != colon {
			d.fail("colon")
		}
		d.next()
		d.st.PrepayKey(key)
		t.Set(d.st.Heap, key, d.parse())
		if d.next(); d.token == objectEnd {
			break
		}
		if d.token != comma {
			d.fail("comma or object end")
		}
		if d.next(); d.token == objectEnd {
			d.fail("object key string")
		}
	}
	return value.OfTable(t)
}

func (d *decoder) parseArray() value.Value {
	const places = 1
	d.enter(places)
	defer d.leave(places)
	t := d.st.Heap.NewTable(0, 0)
	d.next()
	for i := 1; d.token != arrayEnd; i++ {
		t.SetInt(d.st.Heap, i, d.parse())
		if d.next(); d.token == arrayEnd {
			break
		}
		if d.token != comma {
			d.fail("comma or array end")
		}
		if d.next(); d.token == arrayEnd {
			d.fail("value")
		}
	}
	return value.OfTable(t)
}
