package main

import (
	"bytes"
	"fmt"
)

// A replyCounter counts replies in a stream of bytes with arbitrary chunk boundaries:
// arrays without nesting, and single lines. The zero value is ready for use.
type replyCounter struct {
	replies, refused int64 // refused is the number of -OOM replies
	left             int   // remaining lines of the current array
	line             [4]byte
	length           int // number of bytes in line, up to 4
}

// take counts the replies in data. An error reply other than -OOM is returned as an
// error.
func (t *replyCounter) take(data []byte) error {
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n')
		part := data
		if end >= 0 {
			part = data[:end]
		}
		t.length += copy(t.line[t.length:], part)
		if end < 0 {
			return nil
		}
		data = data[end+1:]
		if err := t.lineEnds(part); err != nil {
			return err
		}
		t.length = 0
	}
	return nil
}

// lineEnds counts a line that ends with part.
func (t *replyCounter) lineEnds(part []byte) error {
	switch {
	case t.left > 1:
		t.left--
		return nil
	case t.left == 1:
		t.left = 0
	case t.length > 1 && t.line[0] == '*' && t.line[1] > '0' && t.line[1] <= '9':
		t.left = int(t.line[1] - '0')
		return nil
	case t.length > 0 && t.line[0] == '-':
		if string(t.line[:t.length]) != "-OOM" {
			return fmt.Errorf("error reply that ends with %q", part)
		}
		t.refused++
	}
	t.replies++
	return nil
}
