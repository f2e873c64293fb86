package respclient

import (
	"bufio"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		reply string
		want  any
	}{
		{"+OK\r\n", "OK"},
		{"-ERR no\r\n", Error("ERR no")},
		{":-7\r\n", int64(-7)},
		{"$5\r\na\r\nbc\r\n", "a\r\nbc"},
		{"$-1\r\n", nil},
		{"*-1\r\n", nil},
		{"*2\r\n:1\r\n*1\r\n$0\r\n\r\n", []any{int64(1), []any{""}}},
		{"*2\r\n$1\r\na\r\n-no\r\n", []any{"a", Error("no")}},
	} {
		if got, err := Read(bufio.NewReader(strings.NewReader(tt.reply))); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Read of %q = %#v, %v, want %#v", tt.reply, got, err, tt.want)
		}
	}
	for _, reply := range []string{"HTTP/1.1 400 Bad Request\r\n",
		"\x00\x00\x12\x04\x00 a frame of HTTP/2 without a line's end"} {
		if _, err := Read(bufio.NewReader(strings.NewReader(reply))); !errors.Is(err, ErrNotRedis) {
			t.Errorf("Read of %q = %v, want %v", reply, err, ErrNotRedis)
		}
	}
	for _, reply := range []string{"", "\r\n", "!\r\n", ":x\r\n", "$5\r\nab", "*2\r\n:1\r\n", "$67108865\r\n",
		"*1048577\r\n", "$-2\r\n"} {
		if got, err := Read(bufio.NewReader(strings.NewReader(reply))); err == nil {
			t.Errorf("Read of %q = %#v, want an error", reply, got)
		}
	}
}
