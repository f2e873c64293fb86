package main

import (
	"bytes"
	"fmt"
)

// A tally counts replies in bytes as they come, cut up anywhere: arrays without
// nesting, and what is one line. The zero value has seen nothing.
type tally struct {
	replies, refused int64 // refused: of those, how many are -OOM
	left             int   // lines of an array that are still to come
	line             [4]byte
	length           int // of what was seen of the line, up to 4
}

// take counts on. An error reply other than -OOM is an error.
func (t *tally) take(data []byte) error {
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
func (t *tally) lineEnds(part []byte) error {
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
			return fmt.Errorf("answered an error that ends with %q", part)
		}
		t.refused++
	}
	t.replies++
	return nil
}
