package commands

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// readReply parses a well-formed reply and formats it for people: statuses and errors with
// their sign, strings quoted, arrays in [ ], maps in { }, sets in ~[ ], pushes in >[ ],
// nulls as nil; (nil array) is RESP2's *-1 and _ RESP3's null.
func readReply(b []byte) (shown string, rest []byte, err error) {
	end := bytes.Index(b, []byte("\r\n"))
	if end < 1 {
		return "", nil, fmt.Errorf("no line at %.40q", b)
	}
	kind, line, rest := b[0], string(b[1:end]), b[end+2:]
	if strings.ContainsAny(line, "\r\n") {
		return "", nil, fmt.Errorf("line end inside of %q", line)
	}
	switch kind {
	case '+', '-':
		return string(kind) + line, rest, nil
	case ':':
		_, err := strconv.ParseInt(line, 10, 64)
		return line, rest, err
	case ',', '(':
		_, err := strconv.ParseFloat(line, 64)
		return "," + line, rest, err
	case '#':
		if line != "t" && line != "f" {
			return "", nil, fmt.Errorf("truth value %q", line)
		}
		return "#" + line, rest, nil
	case '_':
		if line != "" {
			return "", nil, fmt.Errorf("null with %q", line)
		}
		return "_", rest, nil
	}
	n, err := strconv.Atoi(line)
	if err != nil || n < -1 || n == -1 && kind != '$' && kind != '*' {
		return "", nil, fmt.Errorf("bad length %c%s", kind, line)
	}
	switch kind {
	case '$', '=':
		return readString(kind, n, rest)
	case '*':
		if n == -1 {
			return "(nil array)", rest, nil
		}
		return readMany("[", "]", n, 1, rest)
	case '~':
		return readMany("~[", "]", n, 1, rest)
	case '>':
		return readMany(">[", "]", n, 1, rest)
	case '%':
		return readMany("{", "}", n, 2, rest)
	}
	return "", nil, fmt.Errorf("reply of kind %q", kind)
}

func readString(kind byte, n int, b []byte) (string, []byte, error) {
	if n == -1 {
		return "nil", b, nil
	}
	if len(b) < n+2 || string(b[n:n+2]) != "\r\n" {
		return "", nil, fmt.Errorf("string of %d bytes, but %.60q", n, b)
	}
	text := string(b[:n])
	if kind == '=' {
		if !strings.HasPrefix(text, "txt:") {
			return "", nil, fmt.Errorf("verbatim %q", text)
		}
		return "=" + strings.ReplaceAll(text, "\r\n", "\n"), b[n+2:], nil
	}
	return strconv.Quote(text), b[n+2:], nil
}

// readMany reads n elements of `each` replies each.
func readMany(open, shut string, n, each int, b []byte) (string, []byte, error) {
	var all []string
	for range n {
		var parts []string
		for range each {
			part, rest, err := readReply(b)
			if err != nil {
				return "", nil, err
			}
			parts, b = append(parts, part), rest
		}
		all = append(all, strings.Join(parts, ": "))
	}
	return open + strings.Join(all, " ") + shut, b, nil
}

// readReplies reads all of b.
func readReplies(b []byte) (all []string, err error) {
	for len(b) > 0 {
		var shown string
		if shown, b, err = readReply(b); err != nil {
			return all, err
		}
		all = append(all, shown)
	}
	return all, nil
}
