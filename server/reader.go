package server

import (
	"bytes"
	"strings"
)

// What the client is told about bytes that are no command: Redis 7.0's texts
// (networking.c), and our own for what Redis has no text for.
const (
	badArgCount     = "Protocol error: invalid multibulk length"
	badArgLength    = "Protocol error: invalid bulk length"
	badArgMark      = "Protocol error: expected '$', got '?'"
	badQuotes       = "Protocol error: unbalanced quotes in request"
	longArgCount    = "Protocol error: too big mbulk count string"
	longArgLength   = "Protocol error: too big bulk count string"
	longInline      = "Protocol error: too big inline request"
	longQuery       = "Protocol error: too big query"
	unauthArgCount  = "Protocol error: unauthenticated multibulk length"
	unauthArgLength = "Protocol error: unauthenticated bulk length"
	unwantedTLS     = "Protocol error: TLS handshake on a port without TLS"
)

// helloMark is what a TLS handshake begins with: its kind of record, and the major
// version of all TLS there is.
const tlsRecordPrefix = "\x16\x03"

// Sizes of the memory that a reader has to itself.
const (
	firstTailBytes = 128     // the first tail of a reader that waits for bytes without being lent a buffer
	tailBytes      = 512     // kept for good: the first bytes of a command cut off by a read
	ownBytes       = 4 << 10 // the first buffer of a reader that is lent none, kept for good
	keptSpans      = 64      // kept for good
)

// A span is where an argument stands, counted from the first byte of its command.
type span struct{ from, to int32 }

// A reader finds the commands in the bytes received: RESP2 arrays of bulk strings
// and inline commands, as Redis 7.0 reads them. The arguments are slices of its
// buffer; nothing is copied.
//
// It never looks twice at a byte that it has understood or searched, whatever the
// segments, and never recurses. It allocates nothing for a length that is only
// claimed: the buffer at most doubles when it is full of bytes received.
//
// The use is: fill what space returns, say so with filled, call next until it has
// no more, and when the commands are executed call release and then settle. What
// next returned is valid until release.
type reader struct {
	buf     []byte
	start   int      // where the command being read begins
	pos     int      // all before it is understood
	scan    int      // no line end is between pos and here, if here is behind pos
	missing int      // arguments of the command that are still to come
	length  int      // of the argument being read; -1: not read yet
	spans   []span   // arguments of the command so far
	args    [][]byte // arguments of all commands since the last release
	problem string   // why no command will be found any more

	lent bool   // buf belongs to a workspace
	tail []byte // what was left of a lent buffer, at most tailBytes
	// What was lent and is kept, nil if nothing is.
	retainedBuf  *chunk[byte]
	retainedArgs *chunk[[]byte]
}

// next returns the next command of the buffer, or nil if none is complete, or
// what is wrong with the bytes. A problem stays.
func (r *reader) next(lim *Limits, unauthenticated bool) (args [][]byte, problem string) {
	for r.problem == "" && r.pos < len(r.buf) {
		if r.missing > 0 {
			return r.array(lim, unauthenticated)
		}
		r.start = r.pos
		if r.buf[r.pos] != '*' {
			if args := r.inline(lim); len(args) > 0 {
				return args, ""
			}
			if r.start == r.pos {
				break // the line is not complete
			}
			continue
		}
		count, ok, there := r.number(lim, longArgCount)
		if !there {
			break
		}
		switch {
		case !ok || count > lim.Args:
			return r.fail(badArgCount)
		case unauthenticated && count > maxUnauthArgs:
			return r.fail(unauthArgCount)
		case count > 0: // else nothing was asked for
			r.missing, r.length = count, -1
		}
	}
	return nil, r.problem
}

// array goes on with an array of bulk strings whose count is known.
func (r *reader) array(lim *Limits, unauthenticated bool) ([][]byte, string) {
	for r.missing > 0 {
		if r.length < 0 && !r.argLength(lim, unauthenticated) {
			return nil, r.problem
		}
		end := r.pos + r.length
		if end+2 > len(r.buf) {
			return nil, ""
		}
		r.spans = append(r.spans, span{int32(r.pos - r.start), int32(end - r.start)})
		r.pos = end + 2 // like Redis, whatever stands in place of the line end
		r.missing--
		r.length = -1
	}
	return r.take(), r.problem
}

// argLength reads the length of the argument at pos. False: its line is not
// complete, or wrong.
func (r *reader) argLength(lim *Limits, unauthenticated bool) bool {
	if r.pos == len(r.buf) {
		return false
	}
	if c := r.buf[r.pos]; c != '$' {
		r.fail(gotMark(c))
		return false
	}
	n, ok, there := r.number(lim, longArgLength)
	switch {
	case !there:
		return false
	case !ok || n < 0 || n > lim.ArgBytes:
		r.fail(badArgLength)
		return false
	case unauthenticated && n > maxUnauthArgBytes:
		r.fail(unauthArgLength)
		return false
	case r.pos-r.start+n+2 > lim.QueryBytes:
		r.fail(longQuery)
		return false
	}
	r.length = n
	return true
}

// number reads the line at pos, a mark and a number, and steps behind it and the
// byte after its carriage return, which Redis does not look at. Not there: the
// line is not complete; if it is too long, the reader has failed with the text
// given.
func (r *reader) number(lim *Limits, tooLong string) (n int, ok, there bool) {
	if n, size := shortNumber(r.buf[r.pos+1:]); size > 0 {
		r.pos += 1 + size
		return n, true, true
	}
	end := max(r.scan, r.pos)
	for end < len(r.buf) && r.buf[end] != '\r' {
		end++
	}
	r.scan = end
	if end-r.pos > lim.InlineBytes {
		r.fail(tooLong)
		return 0, false, false
	}
	if end+2 > len(r.buf) {
		return 0, false, false
	}
	n, ok = parseNumber(r.buf[r.pos+1 : end])
	r.pos = end + 2
	return n, ok, true
}

// shortNumber reads the usual line, of one or two digits, and says how long it is
// with its end; 0 if it is another. It saves half the time of a usual command.
func shortNumber(s []byte) (n, size int) {
	if len(s) < 4 {
		return 0, 0
	}
	d, e := s[0]-'0', s[1]-'0'
	switch {
	case d <= 9 && s[1] == '\r':
		return int(d), 3
	case d-1 <= 8 && e <= 9 && s[2] == '\r':
		return int(d)*10 + int(e), 4
	}
	return 0, 0
}

// inline returns the words of the line at pos and steps behind it; none if the
// line is empty, wrong, or not complete (pos has not moved then).
func (r *reader) inline(lim *Limits) [][]byte {
	if bytes.HasPrefix(r.buf[r.pos:], []byte(tlsRecordPrefix)) {
		r.fail(unwantedTLS)
		return nil
	}
	r.scan = max(r.scan, r.pos)
	end := bytes.IndexByte(r.buf[r.scan:], '\n')
	if end < 0 {
		r.scan = len(r.buf)
	} else {
		r.scan += end
	}
	if r.scan-r.pos > lim.InlineBytes {
		r.fail(longInline)
		return nil
	}
	if end < 0 {
		return nil
	}
	line := r.buf[r.pos:r.scan]
	if isHTTP(line) {
		r.fail(unwantedHTTP)
		return nil
	}
	r.scan++
	r.pos = r.scan
	words, ok := splitWords(bytes.TrimSuffix(line, []byte{'\r'}), r.spans, lim.Args)
	r.spans = words
	switch {
	case !ok:
		r.fail(badQuotes)
	case len(words) > lim.Args:
		r.fail(longInline)
	case len(words) > 0:
		return r.take()
	}
	return nil
}

// take returns the arguments noted, because the command is complete. It fails, and
// returns none, if its name is a word of HTTP.
func (r *reader) take() [][]byte {
	first := len(r.args)
	command := r.buf[r.start:r.pos]
	for _, s := range r.spans {
		r.args = append(r.args, command[s.from:s.to:s.to])
	}
	r.spans = r.spans[:0]
	r.start = r.pos
	if isHTTPWord(r.args[first]) {
		r.fail(unwantedHTTP)
		return nil
	}
	return r.args[first:len(r.args):len(r.args)]
}

// fail stops the reader for good.
func (r *reader) fail(problem string) ([][]byte, string) {
	r.problem = problem
	r.spans = nil
	return nil, problem
}

// gotMark says which byte stands where a '$' should. A line end would end the
// error reply: Redis shows a blank.
func gotMark(c byte) string {
	if c == '\r' || c == '\n' {
		c = ' '
	}
	return strings.Replace(badArgMark, "?", string([]byte{c}), 1)
}

// maxDigits keeps parseNumber far from overflow; limits have 31 bits.
const maxDigits = 18

// parseNumber reads an integer as Redis does (string2ll): a sign only if it is
// minus, no leading zero, no blank. What is too long to be a length is not ok.
func parseNumber(s []byte) (n int, ok bool) {
	if len(s) == 1 {
		n = int(s[0] - '0')
		return n, n <= 9
	}
	negative := len(s) > 1 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > maxDigits || s[0] == '0' {
		return 0, false
	}
	for _, c := range s {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + int(c)
	}
	if negative {
		n = -n
	}
	return n, true
}
