package main

import (
	"bufio"
	"reflect"
	"strings"
	"testing"
)

func TestClientReads(t *testing.T) {
	for _, tt := range []struct {
		reply string
		want  any
	}{
		{"+OK\r\n", "OK"},
		{":-7\r\n", int64(-7)},
		{"$5\r\na\r\nbc\r\n", "a\r\nbc"},
		{"$-1\r\n", nil},
		{"*-1\r\n", nil},
		{"*2\r\n:1\r\n*1\r\n$0\r\n\r\n", []any{int64(1), []any{""}}},
		{"*2\r\n$1\r\na\r\n:1\r\n", []any{"a", int64(1)}},
	} {
		c := &client{reader: bufio.NewReader(strings.NewReader(tt.reply))}
		if got, err := c.read(); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("read of %q = %#v, %v, want %#v", tt.reply, got, err, tt.want)
		}
	}
	for _, reply := range []string{"-ERR no\r\n", "", "\r\n", "!\r\n", ":x\r\n", "$5\r\nab", "*2\r\n:1\r\n"} {
		c := &client{reader: bufio.NewReader(strings.NewReader(reply))}
		if got, err := c.read(); err == nil {
			t.Errorf("read of %q = %#v, want an error", reply, got)
		}
	}
}
