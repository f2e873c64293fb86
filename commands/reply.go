package commands

import (
	"errors"
	"log/slog"
	"math"
	"strconv"

	"github.com/tidwall/redcon"
)

// A Reply appends RESP2 or RESP3 to a buffer. Its zero value writes RESP2. A head (Array,
// Map, Set) must be followed by the number of replies that it announced.
type Reply struct {
	buf    []byte
	proto3 bool
	// failed counts the error replies written; codes, unless nil, counts them by code.
	failed int64
	codes  *codeCounts
}

var (
	errInternal = &Error{"ERR", "internal error"}
	errLoading  = &Error{"LOADING", "limitsrv is loading the dataset in memory"}
)

// A coded error comes from a package that does not import this one, for example from an
// Exec or a Store. Its Code is used as the Code, its text as the Text.
type coded interface {
	error
	Code() string
}

// clientError returns the part of err, wrapped or not, that clients may see; nil:
// nothing.
func clientError(err error) *Error {
	if e, plain := err.(*Error); plain { // the common case; errors.As allocates
		return e
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var c coded
	if errors.As(err, &c) {
		return &Error{c.Code(), c.Error()}
	}
	return nil
}

// exposeError returns err in a form that shows its text to the client; nil for nil.
func exposeError(err error) error {
	if err == nil || clientError(err) != nil {
		return err
	}
	return &Error{"ERR", err.Error()}
}

// Int writes an integer.
func (w *Reply) Int(n int64) { w.buf = redcon.AppendInt(w.buf, n) }

// Bulk writes a bulk string.
func (w *Reply) Bulk(b []byte) { w.buf = redcon.AppendBulk(w.buf, b) }

// BulkString writes a bulk string.
func (w *Reply) BulkString(s string) { w.buf = redcon.AppendBulkString(w.buf, s) }

// Simple writes a status like +OK; line ends in it become spaces.
func (w *Reply) Simple(s string) { w.buf = redcon.AppendString(w.buf, s) }

// OK writes +OK.
func (w *Reply) OK() { w.buf = redcon.AppendOK(w.buf) }

// Array writes the head of an array of n replies.
func (w *Reply) Array(n int) { w.buf = redcon.AppendArray(w.buf, n) }

// Map writes the head of a map; RESP2: of a flat array of 2*pairs.
func (w *Reply) Map(pairs int) {
	if w.proto3 {
		w.head('%', pairs)
		return
	}
	w.Array(2 * pairs)
}

// Set writes the head of a set; RESP2: of an array.
func (w *Reply) Set(n int) {
	if w.proto3 {
		w.head('~', n)
		return
	}
	w.Array(n)
}

// Null writes the null; RESP2: $-1.
func (w *Reply) Null() {
	if w.proto3 {
		w.null3()
		return
	}
	w.buf = redcon.AppendNull(w.buf)
}

// NullArray writes the null in place of an array; RESP2: *-1.
func (w *Reply) NullArray() {
	if w.proto3 {
		w.null3()
		return
	}
	w.Array(-1)
}

// Bool writes a boolean; RESP2: 1 or 0.
func (w *Reply) Bool(v bool) {
	switch {
	case w.proto3 && v:
		w.buf = append(w.buf, "#t\r\n"...)
	case w.proto3:
		w.buf = append(w.buf, "#f\r\n"...)
	case v:
		w.Int(1)
	default:
		w.Int(0)
	}
}

// Double writes a floating point number; RESP2: as a bulk string.
func (w *Reply) Double(f float64) {
	if !w.proto3 {
		w.buf = redcon.AppendBulkFloat(w.buf, f)
		return
	}
	w.buf = append(w.buf, ',')
	switch {
	case math.IsInf(f, 1):
		w.buf = append(w.buf, "inf"...)
	case math.IsInf(f, -1):
		w.buf = append(w.buf, "-inf"...)
	case math.IsNaN(f):
		w.buf = append(w.buf, "nan"...)
	default:
		w.buf = strconv.AppendFloat(w.buf, f, 'g', -1, 64)
	}
	w.buf = append(w.buf, '\r', '\n')
}

// Verbatim writes text for people; RESP2: as a bulk string.
func (w *Reply) Verbatim(s string) {
	if !w.proto3 {
		w.BulkString(s)
		return
	}
	w.head('=', len(s)+len("txt:"))
	w.buf = append(w.buf, "txt:"...)
	w.buf = append(w.buf, s...)
	w.buf = append(w.buf, '\r', '\n')
}

// Error writes an *Error or a coded error, wrapped or not, as -CODE text on one line. Any
// other error is internal: it is logged and answered "internal error".
func (w *Reply) Error(err error) {
	e := clientError(err)
	if e == nil {
		slog.Error("command failed", "error", err)
		e = errInternal
	}
	w.failed++
	if w.codes != nil {
		w.codes.add(e.Code)
	}
	w.buf = append(w.buf, '-')
	w.buf = append(w.buf, e.Code...)
	w.buf = append(w.buf, ' ')
	from := len(w.buf)
	w.buf = append(w.buf, e.Text...)
	for i, c := range w.buf[from:] {
		if c == '\r' || c == '\n' {
			w.buf[from+i] = ' '
		}
	}
	w.buf = append(w.buf, '\r', '\n')
}

func (w *Reply) null3() { w.buf = append(w.buf, '_', '\r', '\n') }

func (w *Reply) head(kind byte, n int) {
	w.buf = append(w.buf, kind)
	w.buf = strconv.AppendInt(w.buf, int64(n), 10)
	w.buf = append(w.buf, '\r', '\n')
}
