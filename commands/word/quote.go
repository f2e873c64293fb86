package word

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxExcerpt is the number of bytes of an argument that an error repeats.
const maxExcerpt = 32

// Excerpt quotes an argument for an error: unprintable bytes are escaped, and beyond
// maxExcerpt bytes the rest is replaced by the size.
func Excerpt(arg []byte) string {
	text := []byte{'\''}
	for i := 0; i < len(arg); {
		r, size := utf8.DecodeRune(arg[i:])
		if i+size > maxExcerpt {
			return fmt.Sprintf("%s...' (%d bytes)", text, len(arg))
		}
		if strconv.IsPrint(r) && !(r == utf8.RuneError && size == 1) {
			text = append(text, arg[i:i+size]...)
		} else {
			for _, c := range arg[i : i+size] {
				text = fmt.Appendf(text, `\x%02x`, c)
			}
		}
		i += size
	}
	return string(append(text, '\''))
}

// Unquoted is Excerpt without the quotes.
func Unquoted(arg []byte) string {
	text := Excerpt(arg)
	if len(arg) <= maxExcerpt {
		return text[1 : len(text)-1]
	}
	return text
}

// CString returns b up to a zero byte, and at most 128 bytes, as Redis truncates quoted
// arguments.
func CString(b []byte) string {
	for i, c := range b[:min(len(b), 128)] {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b[:min(len(b), 128)])
}

// AppendQuoted appends b in quotes, with Redis' escapes.
func AppendQuoted(line, b []byte) []byte {
	line = append(line, '"')
	for _, c := range b {
		switch c {
		case '\\', '"':
			line = append(line, '\\', c)
		case '\n':
			line = append(line, `\n`...)
		case '\r':
			line = append(line, `\r`...)
		case '\t':
			line = append(line, `\t`...)
		case '\a':
			line = append(line, `\a`...)
		case '\b':
			line = append(line, `\b`...)
		default:
			if c >= ' ' && c <= '~' {
				line = append(line, c)
				continue
			}
			line = append(line, '\\', 'x')
			line = append(line, strconv.FormatUint(uint64(c)|0x100, 16)[1:]...)
		}
	}
	return append(line, '"')
}
