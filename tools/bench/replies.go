package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
)

// refusals are the prefixes of error replies that a load may get: from a server without memory for
// a new key, and from nodes while their leader changes.
var refusals = []string{"-OOM", "-UNCERTAIN"}

// longestRefusal is the length of the longest of refusals.
const longestRefusal = len("-UNCERTAIN")

func isRefusal(line []byte) bool {
	return slices.ContainsFunc(refusals, func(begin string) bool { return bytes.HasPrefix(line, []byte(begin)) })
}

// A replyCount counts the replies to a pipeline by their line ends, instead of parsing
// them.
//
// Concurrency: not safe for concurrent use.
type replyCount struct {
	lines   int    // of a reply
	left    int    // lines that are outstanding
	refused int    // error replies with a prefix in refusals
	within  bool   // the last byte received did not end a line
	start   []byte // of a line, if too short to tell whether it is a refusal
}

var lineEnd = []byte("\n")

// expect returns the count for n replies of lines lines each. A reply in refusals has a line.
func expect(n, lines int) replyCount { return replyCount{lines: lines, left: n * lines} }

// add counts the next bytes received. Error replies for other reasons are returned as
// errors, and so are more replies than expected.
func (r *replyCount) add(got []byte) error {
	if len(got) == 0 {
		return nil
	}
	r.left -= bytes.Count(got, lineEnd)
	rest := got
	if len(r.start) > 0 {
		rest = slices.Concat(r.start, got)
	} else if r.within {
		_, rest, _ = bytes.Cut(rest, lineEnd)
	}
	r.within = got[len(got)-1] != '\n'
	for r.start = nil; len(rest) > 0; _, rest, _ = bytes.Cut(rest, lineEnd) {
		if rest[0] != '-' {
			at := bytes.Index(rest, []byte("\n-"))
			if at < 0 {
				break
			}
			rest = rest[at+1:]
		}
		if len(rest) < longestRefusal && !bytes.Contains(rest, lineEnd) {
			r.start = slices.Clone(rest)
			break
		}
		if !isRefusal(rest) {
			return fmt.Errorf("error reply: %q", rest[:min(len(rest), 200)])
		}
		r.refused++
		r.left -= r.lines - 1
	}
	if r.left < 0 {
		return fmt.Errorf("received %d surplus lines", -r.left)
	}
	return nil
}

// readReplies reads n replies from conn, as expect describes them, and returns the number
// of refusals.
func readReplies(conn io.Reader, buf []byte, n, lines int) (refused int, err error) {
	r := expect(n, lines)
	for r.left != 0 {
		size, err := conn.Read(buf)
		if err == nil {
			err = r.add(buf[:size])
		}
		if err != nil {
			return r.refused, err
		}
	}
	return r.refused, nil
}
