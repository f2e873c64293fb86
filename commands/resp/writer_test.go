package resp

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

func TestWriter(t *testing.T) {
	for _, tt := range []struct {
		name         string
		write        func(*Writer)
		resp2, resp3 string
	}{
		{"Int", func(w *Writer) { w.Int(math.MinInt64) }, ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"},
		{"Bulk", func(w *Writer) { w.Bulk([]byte("a\r\n\x00")) }, "$4\r\na\r\n\x00\r\n", "$4\r\na\r\n\x00\r\n"},
		{"BulkString", func(w *Writer) { w.BulkString("") }, "$0\r\n\r\n", "$0\r\n\r\n"},
		{"Simple", func(w *Writer) { w.Simple("a\r\nb") }, "+a  b\r\n", "+a  b\r\n"},
		{"OK", func(w *Writer) { w.OK() }, "+OK\r\n", "+OK\r\n"},
		{"Array", func(w *Writer) { w.Array(2) }, "*2\r\n", "*2\r\n"},
		{"Map", func(w *Writer) { w.Map(2) }, "*4\r\n", "%2\r\n"},
		{"Set", func(w *Writer) { w.Set(2) }, "*2\r\n", "~2\r\n"},
		{"Null", func(w *Writer) { w.Null() }, "$-1\r\n", "_\r\n"},
		{"NullArray", func(w *Writer) { w.NullArray() }, "*-1\r\n", "_\r\n"},
		{"Bool true", func(w *Writer) { w.Bool(true) }, ":1\r\n", "#t\r\n"},
		{"Bool false", func(w *Writer) { w.Bool(false) }, ":0\r\n", "#f\r\n"},
		{"Double", func(w *Writer) { w.Double(0.25) }, "$4\r\n0.25\r\n", ",0.25\r\n"},
		{"Double infinite", func(w *Writer) { w.Double(math.Inf(1)) }, "$4\r\n+Inf\r\n", ",inf\r\n"},
		{"Double less than that", func(w *Writer) { w.Double(math.Inf(-1)) }, "$4\r\n-Inf\r\n", ",-inf\r\n"},
		{"Double of no value", func(w *Writer) { w.Double(math.NaN()) }, "$3\r\nNaN\r\n", ",nan\r\n"},
		{"Verbatim", func(w *Writer) { w.Verbatim("a\r\n") }, "$3\r\na\r\n\r\n", "=7\r\ntxt:a\r\n\r\n"},
		{"Error", func(w *Writer) { w.Error(&Error{"WRONGTYPE", "of\r\nkey"}) }, "-WRONGTYPE of  key\r\n",
			"-WRONGTYPE of  key\r\n"},
		{"Error wrapped", func(w *Writer) { w.Error(fmt.Errorf("get: %w", NewError("ERR", "syntax error"))) },
			"-ERR syntax error\r\n", "-ERR syntax error\r\n"},
		{"Error of ours", func(w *Writer) { w.Error(errors.New("secret")) }, "-ERR internal error\r\n",
			"-ERR internal error\r\n"},
	} {
		for _, w := range []*Writer{{}, {Proto3: true}} {
			want := tt.resp2
			if w.Proto3 {
				want = tt.resp3
			}
			if tt.write(w); string(w.Buf) != want {
				t.Errorf("%s, RESP3 %v: got %q, want %q", tt.name, w.Proto3, w.Buf, want)
			}
		}
	}
}

// Rejecting new keys at the memory limit must not create garbage.
func TestErrorAllocatesNothing(t *testing.T) {
	w := Writer{Buf: make([]byte, 0, 1<<10), Codes: new(CodeCounts)}
	full := NewError("OOM", "command not allowed")
	w.Error(full)
	if n := testing.AllocsPerRun(100, func() {
		w.Buf = w.Buf[:0]
		w.Error(full)
	}); n != 0 {
		t.Errorf("%v allocations for an error reply, want none", n)
	}
}
