package resp

import "bytes"

// httpMethods are the methods of RFC 9110 and 5789, except POST, which isHTTP rejects in
// any line.
var httpMethods = [...]string{"GET", "PUT", "HEAD", "PATCH", "TRACE", "DELETE", "OPTIONS", "CONNECT"}

// isHTTP reports whether an inline command is a line of HTTP: its first word is POST or
// starts with Host:, as in Redis (securityWarningCommand); or it has three words or more
// and the last starts with HTTP/, with any method, because fetch sends any token as a
// method; or it is a method followed by a path or a URL. Letter case does not matter. The
// line is as received, before quotes are undone.
func isHTTP(line []byte) bool {
	first, rest := cutWord(line)
	if isHTTPWord(first) || hasPrefixFold(first, "Host:") {
		return true
	}
	target, rest := cutWord(rest)
	rest = bytes.TrimRightFunc(rest, isSpaceRune)
	if hasPrefixFold(rest[bytes.LastIndexFunc(rest, isSpaceRune)+1:], "HTTP/") {
		return true
	}
	return isHTTPMethod(first) && (bytes.HasPrefix(target, []byte("/")) || bytes.Contains(target, []byte("://")))
}

// isHTTPWord reports whether a command of this name is rejected in any form: POST and
// Host:.
func isHTTPWord(name []byte) bool {
	switch len(name) {
	case len("POST"):
		return hasPrefixFold(name, "POST")
	case len("Host:"):
		return hasPrefixFold(name, "Host:")
	}
	return false
}

func isHTTPMethod(word []byte) bool {
	for _, m := range httpMethods {
		if len(word) == len(m) && hasPrefixFold(word, m) {
			return true
		}
	}
	return false
}

// cutWord returns the first word of line and the bytes after it.
func cutWord(line []byte) (word, rest []byte) {
	line = bytes.TrimLeftFunc(line, isSpaceRune)
	if end := bytes.IndexFunc(line, isSpaceRune); end >= 0 {
		return line[:end], line[end:]
	}
	return line, nil
}

func isSpaceRune(r rune) bool { return r < 0x80 && isSpace(byte(r)) }

func hasPrefixFold(s []byte, prefix string) bool {
	return len(s) >= len(prefix) && bytes.EqualFold(s[:len(prefix)], []byte(prefix))
}
