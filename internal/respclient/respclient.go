// Package respclient reads and writes the Redis protocol as a client does, for tools and tests.
package respclient

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Bounds of a reply.
const (
	maxBytes    = 64 << 20 // of a string
	maxElements = 1 << 20  // of an array
)

// An Error is an error reply of a server.
type Error string

func (e Error) Error() string { return string(e) }

// kinds are the first bytes of the replies of RESP2.
const kinds = "+-:$*"

// ErrNotRedis reports bytes that are no reply of RESP2.
var ErrNotRedis = errors.New("no server that speaks the Redis protocol")

// AppendCommand appends a command to buf.
func AppendCommand(buf []byte, args ...string) []byte {
	buf = fmt.Appendf(buf, "*%d\r\n", len(args))
	for _, arg := range args {
		buf = fmt.Appendf(buf, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return buf
}

// Read reads a reply of RESP2: a string, an int64, an Error, nil, or a []any of these. A string has
// at most 64 MB, and an array at most 1 048 576 elements.
func Read(in *bufio.Reader) (any, error) {
	if first, err := in.Peek(1); err != nil {
		return nil, err
	} else if !strings.Contains(kinds, string(first)) {
		answer, _ := in.Peek(in.Buffered())
		return nil, fmt.Errorf("%w: it answers %.40q", ErrNotRedis, answer)
	}
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	kind, text := line[0], line[1:]
	switch kind {
	case '+':
		return text, nil
	case '-':
		return Error(text), nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && kind == ':':
		return n, nil
	case err == nil && (kind == '$' || kind == '*') && n == -1:
		return nil, nil
	case err == nil && kind == '$' && n >= 0 && n <= maxBytes:
		b := make([]byte, n+2)
		if _, err := io.ReadFull(in, b); err != nil {
			return nil, err
		}
		return string(b[:n]), nil
	case err == nil && kind == '*' && n >= 0 && n <= maxElements:
		all := make([]any, n)
		for i := range all {
			if all[i], err = Read(in); err != nil {
				return nil, err
			}
		}
		return all, nil
	}
	return nil, fmt.Errorf("%w: it answers %.40q", ErrNotRedis, line)
}
