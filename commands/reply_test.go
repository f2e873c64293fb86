package commands

import (
	"errors"
	"fmt"
	"math"
	"testing"
)

func TestReply(t *testing.T) {
	for _, tt := range []struct {
		name         string
		write        func(*Reply)
		resp2, resp3 string
	}{
		{"Int", func(w *Reply) { w.Int(math.MinInt64) }, ":-9223372036854775808\r\n", ":-9223372036854775808\r\n"},
		{"Bulk", func(w *Reply) { w.Bulk([]byte("a\r\n\x00")) }, "$4\r\na\r\n\x00\r\n", "$4\r\na\r\n\x00\r\n"},
		{"BulkString", func(w *Reply) { w.BulkString("") }, "$0\r\n\r\n", "$0\r\n\r\n"},
		{"Simple", func(w *Reply) { w.Simple("a\r\nb") }, "+a  b\r\n", "+a  b\r\n"},
		{"OK", func(w *Reply) { w.OK() }, "+OK\r\n", "+OK\r\n"},
		{"Array", func(w *Reply) { w.Array(2) }, "*2\r\n", "*2\r\n"},
		{"Map", func(w *Reply) { w.Map(2) }, "*4\r\n", "%2\r\n"},
		{"Set", func(w *Reply) { w.Set(2) }, "*2\r\n", "~2\r\n"},
		{"Null", func(w *Reply) { w.Null() }, "$-1\r\n", "_\r\n"},
		{"NullArray", func(w *Reply) { w.NullArray() }, "*-1\r\n", "_\r\n"},
		{"Bool true", func(w *Reply) { w.Bool(true) }, ":1\r\n", "#t\r\n"},
		{"Bool false", func(w *Reply) { w.Bool(false) }, ":0\r\n", "#f\r\n"},
		{"Double", func(w *Reply) { w.Double(0.25) }, "$4\r\n0.25\r\n", ",0.25\r\n"},
		{"Double infinite", func(w *Reply) { w.Double(math.Inf(1)) }, "$4\r\n+Inf\r\n", ",inf\r\n"},
		{"Double less than that", func(w *Reply) { w.Double(math.Inf(-1)) }, "$4\r\n-Inf\r\n", ",-inf\r\n"},
		{"Double of no value", func(w *Reply) { w.Double(math.NaN()) }, "$3\r\nNaN\r\n", ",nan\r\n"},
		{"Verbatim", func(w *Reply) { w.Verbatim("a\r\n") }, "$3\r\na\r\n\r\n", "=7\r\ntxt:a\r\n\r\n"},
		{"Error", func(w *Reply) { w.Error(&Error{"WRONGTYPE", "of\r\nkey"}) }, "-WRONGTYPE of  key\r\n", "-WRONGTYPE of  key\r\n"},
		{"Error wrapped", func(w *Reply) { w.Error(fmt.Errorf("get: %w", errSyntax)) }, "-ERR syntax error\r\n", "-ERR syntax error\r\n"},
		{"Error of ours", func(w *Reply) { w.Error(errors.New("secret")) }, "-ERR internal error\r\n", "-ERR internal error\r\n"},
	} {
		for _, w := range []*Reply{{}, {proto3: true}} {
			want := tt.resp2
			if w.proto3 {
				want = tt.resp3
			}
			if tt.write(w); string(w.buf) != want {
				t.Errorf("%s, RESP3 %v: got %q, want %q", tt.name, w.proto3, w.buf, want)
			}
		}
	}
}

// Rejecting new keys at the memory limit must not create garbage.
func TestErrorAllocatesNothing(t *testing.T) {
	w := Reply{buf: make([]byte, 0, 1<<10), codes: new(codeCounts)}
	w.Error(errNoMemory)
	if n := testing.AllocsPerRun(100, func() {
		w.buf = w.buf[:0]
		w.Error(errNoMemory)
	}); n != 0 {
		t.Errorf("%v allocations for an error reply, want none", n)
	}
}
