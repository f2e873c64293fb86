package resp

import (
	"bytes"
	"strings"
)

// Replies to bytes that are not a command: Redis 7.0's texts (networking.c), and our own if
// Redis has no text.
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
)

// Problems whose connections the server counts or logs.
const (
	// ProblemTLS is the problem of a TLS handshake.
	ProblemTLS = "Protocol error: TLS handshake on a port without TLS"
	// ProblemHTTP is the problem of HTTP. A web page can make a browser send a request
	// with a body of inline commands, so nothing after the first sign of HTTP is executed.
	ProblemHTTP = "Protocol error: this port speaks the Redis protocol, not HTTP"
)

// tlsRecordPrefix begins every TLS handshake: the record type, and the major version that
// all TLS versions share.
const tlsRecordPrefix = "\x16\x03"

// Sizes of the memory that belongs to the reader itself.
const (
	firstTailBytes = 128     // the first tail of a reader that waits without a borrowed buffer
	tailBytes      = 512     // kept for good: the first bytes of a command cut off by a read
	ownBytes       = 4 << 10 // the first buffer of a reader that borrows no buffer, kept for good
	ownArgs        = 512     // kept for good by a reader that borrows no arguments
	keptSpans      = 64      // kept for good
)

// A span is the range of an argument, relative to the first byte of its command.
type span struct{ from, to int32 }

// A Reader finds the commands in the bytes received: RESP2 arrays of bulk strings and
// inline commands, as Redis 7.0 reads them. The arguments are slices of its buffer;
// nothing is copied.
//
// It never parses or searches a byte twice, however the input is segmented, and never
// recurses. It allocates nothing for a length that is only claimed: the buffer at most
// doubles when it is full of received bytes.
//
// Usage: fill the result of Space, report the bytes to Filled, call Next until it returns
// no command, and after the commands are executed call DiscardArgs and then Compact. A
// reader that borrows its memory is between Borrow and Release meanwhile, and needs no
// Compact. The results of Next are valid until DiscardArgs.
//
// Concurrency: not safe for concurrent use.
type Reader struct {
	buf     []byte
	start   int      // start of the command being read
	pos     int      // all bytes before it are parsed
	scan    int      // if greater than pos: no line end is between pos and here
	missing int      // arguments of the command still to come
	length  int      // length of the argument being read; -1: not read yet
	spans   []span   // arguments of the command so far
	args    [][]byte // arguments of all commands since the last DiscardArgs
	problem string   // protocol error; no command is found after it

	lent bool   // buf belongs to a Pool
	tail []byte // the rest of a lent buffer, at most tailBytes
	// Retained chunks, or nil.
	retainedBuf  *chunk[byte]
	retainedArgs *chunk[[]byte]
}

// Next returns the next complete command of the buffer, nil if no command is complete, or a
// protocol error. After an error it returns that error for good. lim must be the same for
// all calls. No allocation in steady state.
func (r *Reader) Next(lim *Limits, unauthenticated bool) (args [][]byte, problem string) {
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
		count, ok, complete := r.number(lim, longArgCount)
		if !complete {
			break
		}
		switch {
		case !ok || count > lim.Args:
			return r.fail(badArgCount)
		case unauthenticated && count > maxUnauthArgs:
			return r.fail(unauthArgCount)
		case count > 0: // an empty array asks for nothing
			r.missing, r.length = count, -1
			if args := r.whole(lim, unauthenticated); args != nil {
				return r.named(args), r.problem
			}
		}
	}
	return nil, r.problem
}

// whole reads an array of bulk strings with a known count, at pos, if it is complete and all of
// its lengths have one or two digits, as most have: without spans. Otherwise it returns nil, and
// array must read it.
func (r *Reader) whole(lim *Limits, unauthenticated bool) [][]byte {
	first, all, pos := len(r.args), r.args, r.pos
	if unauthenticated {
		return nil
	}
	for range r.missing {
		n, size, end := 0, 0, 0
		if pos < len(r.buf) && r.buf[pos] == '$' {
			n, size = shortNumber(r.buf[pos+1:])
			pos += 1 + size
			end = pos + n
		}
		if size == 0 || end+2 > len(r.buf) || n > lim.ArgBytes || end+2-r.start > lim.QueryBytes {
			clear(all[first:]) // so that it keeps no buffer alive
			return nil
		}
		all = append(all, r.buf[pos:end:end])
		pos = end + 2 // as array does
	}
	r.args, r.pos, r.start, r.missing = all, pos, pos, 0
	return all[first:len(all):len(all)]
}

// named returns the arguments of a command. It fails, and returns nil, if the name is a word
// of HTTP.
func (r *Reader) named(args [][]byte) [][]byte {
	if isHTTPWord(args[0]) {
		r.fail(ProblemHTTP)
		return nil
	}
	return args
}

// array continues an array of bulk strings with a known count.
func (r *Reader) array(lim *Limits, unauthenticated bool) ([][]byte, string) {
	for r.missing > 0 {
		if r.length < 0 && !r.argLength(lim, unauthenticated) {
			return nil, r.problem
		}
		end := r.pos + r.length
		if end+2 > len(r.buf) {
			return nil, ""
		}
		r.spans = append(r.spans, span{int32(r.pos - r.start), int32(end - r.start)})
		r.pos = end + 2 // like Redis, ignores the bytes in place of the line end
		r.missing--
		r.length = -1
	}
	return r.take(), r.problem
}

// argLength reads the length of the argument at pos. It returns false if the line is
// incomplete or invalid.
func (r *Reader) argLength(lim *Limits, unauthenticated bool) bool {
	if r.pos == len(r.buf) {
		return false
	}
	if c := r.buf[r.pos]; c != '$' {
		r.fail(gotMark(c))
		return false
	}
	n, ok, complete := r.number(lim, longArgLength)
	switch {
	case !complete:
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

// number reads the line at pos, a mark and a number, and advances past it and the byte
// after its carriage return, which Redis does not check. It returns complete == false if
// the line is incomplete; if it is also too long, the reader has failed with tooLong.
func (r *Reader) number(lim *Limits, tooLong string) (n int, ok, complete bool) {
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

// shortNumber reads a number of one or two digits, the usual case, and returns the size of
// the line after the mark; 0 for any other line. It saves half the time of a usual command.
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

// inline returns the words of the line at pos and advances past it. It returns no words if
// the line is empty, invalid, or incomplete; pos moves except in the last case.
func (r *Reader) inline(lim *Limits) [][]byte {
	if bytes.HasPrefix(r.buf[r.pos:], []byte(tlsRecordPrefix)) {
		r.fail(ProblemTLS)
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
		r.fail(ProblemHTTP)
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

// take returns the arguments of the command just completed, as named does.
func (r *Reader) take() [][]byte {
	first := len(r.args)
	command := r.buf[r.start:r.pos]
	for _, s := range r.spans {
		r.args = append(r.args, command[s.from:s.to:s.to])
	}
	r.spans = r.spans[:0]
	r.start = r.pos
	return r.named(r.args[first:len(r.args):len(r.args)])
}

// Problem returns the protocol error, or "". No command is found after it.
func (r *Reader) Problem() string { return r.problem }

// fail stops the reader for good.
func (r *Reader) fail(problem string) ([][]byte, string) {
	r.problem = problem
	r.spans = nil
	return nil, problem
}

// gotMark names the byte in place of a '$'. A line end is shown as a blank, as Redis
// does, because it would end the error reply.
func gotMark(c byte) string {
	if c == '\r' || c == '\n' {
		c = ' '
	}
	return strings.Replace(badArgMark, "?", string([]byte{c}), 1)
}

// maxDigits keeps parseNumber far from overflow; limits have 31 bits.
const maxDigits = 18

// parseNumber reads an integer as Redis does (string2ll): no sign but a minus, no leading
// zero, no blank. A number with more than maxDigits digits is not ok.
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
