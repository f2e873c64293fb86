package resp

import (
	"log/slog"
	"math"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

// A Writer appends RESP2 or RESP3 to a buffer. Its zero value writes RESP2. A head (Array,
// Map, Set, Push) must be followed by the number of replies that it announced.
//
// Concurrency: not safe for concurrent use.
type Writer struct {
	Buf    []byte
	Proto3 bool // RESP3
	// Failed counts the error replies written; Codes, unless nil, counts them by code.
	Failed int64
	Codes  *CodeCounts
}

// Int writes an integer.
func (w *Writer) Int(n int64) { w.Buf = redcon.AppendInt(w.Buf, n) }

// Bulk writes a bulk string.
func (w *Writer) Bulk(b []byte) { w.Buf = redcon.AppendBulk(w.Buf, b) }

// BulkString writes a bulk string.
func (w *Writer) BulkString(s string) { w.Buf = redcon.AppendBulkString(w.Buf, s) }

// Simple writes a status like +OK; line ends in it become spaces.
func (w *Writer) Simple(s string) { w.Buf = redcon.AppendString(w.Buf, s) }

// OK writes +OK.
func (w *Writer) OK() { w.Buf = redcon.AppendOK(w.Buf) }

// BulkStrings writes an array of bulk strings.
func (w *Writer) BulkStrings(all []string) {
	w.Array(len(all))
	for _, s := range all {
		w.BulkString(s)
	}
}

// Pair writes two bulk strings, an entry of a map.
func (w *Writer) Pair(key, value string) {
	w.BulkString(key)
	w.BulkString(value)
}

// Array writes the head of an array of n replies.
func (w *Writer) Array(n int) { w.Buf = redcon.AppendArray(w.Buf, n) }

// Map writes the head of a map; RESP2: of a flat array of 2*pairs.
func (w *Writer) Map(pairs int) {
	if w.Proto3 {
		w.head('%', pairs)
		return
	}
	w.Array(2 * pairs)
}

// Set writes the head of a set; RESP2: of an array.
func (w *Writer) Set(n int) {
	if w.Proto3 {
		w.head('~', n)
		return
	}
	w.Array(n)
}

// Push writes the head of a push of n replies; RESP2: of an array.
func (w *Writer) Push(n int) {
	if w.Proto3 {
		w.head('>', n)
		return
	}
	w.Array(n)
}

// Null writes the null; RESP2: $-1.
func (w *Writer) Null() {
	if w.Proto3 {
		w.null3()
		return
	}
	w.Buf = redcon.AppendNull(w.Buf)
}

// NullArray writes the null in place of an array; RESP2: *-1.
func (w *Writer) NullArray() {
	if w.Proto3 {
		w.null3()
		return
	}
	w.Array(-1)
}

// Bool writes a boolean; RESP2: 1 or 0.
func (w *Writer) Bool(v bool) {
	switch {
	case w.Proto3 && v:
		w.Buf = append(w.Buf, "#t\r\n"...)
	case w.Proto3:
		w.Buf = append(w.Buf, "#f\r\n"...)
	case v:
		w.Int(1)
	default:
		w.Int(0)
	}
}

// Double writes a floating point number; RESP2: as a bulk string.
func (w *Writer) Double(f float64) {
	if !w.Proto3 {
		w.Buf = redcon.AppendBulkFloat(w.Buf, f)
		return
	}
	w.Buf = append(w.Buf, ',')
	switch {
	case math.IsInf(f, 1):
		w.Buf = append(w.Buf, "inf"...)
	case math.IsInf(f, -1):
		w.Buf = append(w.Buf, "-inf"...)
	case math.IsNaN(f):
		w.Buf = append(w.Buf, "nan"...)
	default:
		w.Buf = strconv.AppendFloat(w.Buf, f, 'g', -1, 64)
	}
	w.Buf = append(w.Buf, '\r', '\n')
}

// Verbatim writes text for people; RESP2: as a bulk string.
func (w *Writer) Verbatim(s string) {
	if !w.Proto3 {
		w.BulkString(s)
		return
	}
	w.head('=', len(s)+len("txt:"))
	w.Buf = append(w.Buf, "txt:"...)
	w.Buf = append(w.Buf, s...)
	w.Buf = append(w.Buf, '\r', '\n')
}

// Error writes an *Error or a coded error, wrapped or not, as -CODE text on one line. Any
// other error is internal: it is logged and answered "internal error".
func (w *Writer) Error(err error) {
	e := ErrorOf(err)
	if e == nil {
		slog.Error("command failed", "error", err)
		e = errInternal
	}
	w.Failed++
	if w.Codes != nil {
		w.Codes.add(e.Code)
	}
	w.Buf = append(w.Buf, '-')
	w.Buf = append(w.Buf, e.Code...)
	from := len(w.Buf)
	if e.Text != "" {
		w.Buf = append(w.Buf, ' ')
		w.Buf = append(w.Buf, e.Text...)
	}
	for i, c := range w.Buf[from:] {
		if c == '\r' || c == '\n' {
			w.Buf[from+i] = ' '
		}
	}
	w.Buf = append(w.Buf, '\r', '\n')
}

// Reply writes a whole reply, as another Writer has written it. An error is counted.
func (w *Writer) Reply(reply []byte) {
	if len(reply) > 0 && reply[0] == '-' {
		code, text, _ := strings.Cut(strings.TrimRight(string(reply[1:]), "\r\n"), " ")
		w.Error(NewError(code, text))
		return
	}
	w.Buf = append(w.Buf, reply...)
}

func (w *Writer) null3() { w.Buf = append(w.Buf, '_', '\r', '\n') }

func (w *Writer) head(kind byte, n int) {
	w.Buf = append(w.Buf, kind)
	w.Buf = strconv.AppendInt(w.Buf, int64(n), 10)
	w.Buf = append(w.Buf, '\r', '\n')
}
