package scripts

import (
	"bytes"
	"fmt"
)

// cString returns text up to its first zero byte.
func cString(text []byte) []byte {
	text, _, _ = bytes.Cut(text, []byte{0})
	return text
}

// spaced returns text up to a zero byte, with spaces for line breaks.
func spaced(text []byte) []byte {
	text = cString(text)
	if bytes.ContainsAny(text, "\r\n") {
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r"), []byte(" ")), []byte("\n"), []byte(" "))
	}
	return text
}

// oneLine returns the text of an error up to a zero byte, on a line.
func oneLine(text []byte) string { return string(spaced(bytes.Trim(cString(text), "\r\n"))) }

// suffix is the end of an error of a script or function: its hash or name, and the line.
func suffix(name, source string, line int) string {
	return fmt.Sprintf(" script: %s, on %s:%d.", name, source, line)
}

// codeFirst returns an error of a script with a code word in front: its first word, unless it
// is the only word.
func codeFirst(text []byte) string {
	text = bytes.TrimPrefix(text, []byte("-"))
	code, rest, several := bytes.Cut(text, []byte(" "))
	if !several {
		code, rest = []byte("ERR"), text
	}
	return string(code) + " " + string(bytes.Trim(rest, "\r\n"))
}
