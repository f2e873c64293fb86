package answer

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	for _, tt := range []struct {
		name         string
		answer       []byte
		resp2, resp3 string
	}{
		{"nil", AppendNil(nil), "$-1|", "_|"},
		{"true", AppendBool(nil, true), ":1|", "#t|"},
		{"false", AppendBool(nil, false), ":0|", "#f|"},
		{"an integer", AppendInt(nil, math.MinInt64), ":-9223372036854775808|", ":-9223372036854775808|"},
		{"a short double", AppendDouble(nil, 1), "$1|1|", ",1|"},
		{"a double", AppendDouble(nil, 10.5), "$4|10.5|", ",10.5|"},
		{"a bulk", AppendBulk(nil, []byte("a\r\nb")), "$4|a|b|", "$4|a|b|"},
		{"an empty bulk", AppendBulk(nil, nil), "$0||", "$0||"},
		{"a status", OK, "+OK|", "+OK|"},
		{"an error", AppendError(nil, "ERR no"), "-ERR no|", "-ERR no|"},
		{"a verbatim", AppendVerbatim(nil, "txt", []byte("x")), "$1|x|", "=5|txt:x|"},
		{"a big number", AppendBigNumber(nil, "123"), "$3|123|", "(123|"},
		{"an array", AppendInt(AppendNil(AppendArray(nil, 2)), 5), "*2|$-1|:5|", "*2|_|:5|"},
		{"a map", AppendInt(AppendNil(AppendMap(nil, 1)), 5), "*2|$-1|:5|", "%1|_|:5|"},
		{"a set", AppendInt(AppendNil(AppendSet(nil, 2)), 5), "*2|$-1|:5|", "~2|_|:5|"},
		{"no array", AppendNilArray(nil), "*-1|", "_|"},
		{"pairs", AppendInt(AppendNil(AppendPair(AppendInt(AppendInt(AppendPair(AppendPairs(nil, 2)), 1), 2))), 3),
			"*4|:1|:2|$-1|:3|", "*2|*2|:1|:2|*2|_|:3|"},
		{"a nested array", AppendArray(AppendArray(nil, 1), 0), "*1|*0|", "*1|*0|"},
	} {
		if !Valid(tt.answer) {
			t.Errorf("%s: % x is not valid", tt.name, tt.answer)
		}
		for p, want := range map[Protocol]string{RESP2: tt.resp2, RESP3: tt.resp3} {
			if got := strings.ReplaceAll(string(AppendTo(nil, tt.answer, p)), "\r\n", "|"); got != want {
				t.Errorf("%s in RESP%d: %q, want %q", tt.name, p, got, want)
			}
			if len(tt.answer) > MaxRatio*len(want) {
				t.Errorf("%s in RESP%d: an answer of %d bytes, a reply of %d", tt.name, p, len(tt.answer), len(want))
			}
		}
		for n := range tt.answer {
			if Valid(tt.answer[:n]) {
				t.Errorf("%s: %d of %d bytes are valid", tt.name, n, len(tt.answer))
			}
		}
	}
}

func TestAnswersDoNotAllocate(t *testing.T) {
	buffer, out := make([]byte, 0, 1<<10), make([]byte, 0, 1<<10)
	value := []byte("some bytes")
	if n := testing.AllocsPerRun(100, func() {
		buffer = AppendArray(buffer[:0], 4)
		buffer = AppendDouble(AppendBulk(AppendStatus(AppendInt(buffer, 7), "OK"), value), 0.1)
		out = AppendTo(out[:0], buffer, RESP2)
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzValid(f *testing.F) {
	f.Add(AppendInt(AppendNil(AppendMap(nil, 1)), 5))
	f.Add(AppendVerbatim(nil, "txt", []byte("x")))
	f.Add(AppendBigNumber(nil, "123"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if Valid(data) {
			AppendTo(nil, data, RESP2)
			AppendTo(nil, data, RESP3)
		}
	})
}

// TestShortValues compares integers and lengths of a byte, and those beside them, with the
// general form.
func TestShortValues(t *testing.T) {
	for n := -200; n <= 200; n++ {
		a := AppendInt(nil, int64(n))
		if want := binary.AppendVarint([]byte{byte(Integer)}, int64(n)); !bytes.Equal(a, want) {
			t.Errorf("the integer %d is % x, want % x", n, a, want)
		}
		if got, want := string(AppendTo(nil, a, RESP2)), ":"+strconv.Itoa(n)+"\r\n"; got != want {
			t.Errorf("the integer %d is rendered as %q", n, got)
		}
		if got, rest, ok := TakeInt(append(a, 7)); !ok || got != int64(n) || len(rest) != 1 {
			t.Errorf("TakeInt of %d returns %d, % x, %v", n, got, rest, ok)
		}
	}
	for n := range 300 {
		text := bytes.Repeat([]byte{'x'}, n)
		a := AppendBulk(nil, text)
		if want := append(binary.AppendUvarint([]byte{byte(Bulk)}, uint64(n)), text...); !bytes.Equal(a, want) {
			t.Errorf("a bulk of %d bytes begins with % x", n, a[:3])
		}
		if v, rest, ok := Next(append(a, 7)); !ok || !bytes.Equal(v.Bytes, text) || len(rest) != 1 {
			t.Errorf("Next of a bulk of %d bytes returns %d bytes, % x, %v", n, len(v.Bytes), rest, ok)
		}
		b, rest, ok := TakeBulk(append(a, 7))
		if ok != (n < 128) || ok && (!bytes.Equal(b, text) || len(rest) != 1) {
			t.Errorf("TakeBulk of %d bytes returns %d bytes, % x, %v", n, len(b), rest, ok)
		}
		if _, _, ok := TakeBulk(a[:len(a)-1]); ok {
			t.Errorf("TakeBulk takes %d of %d bytes", n-1, n)
		}
	}
	if _, _, ok := TakeBulk(AppendStatus(nil, "OK")); ok {
		t.Error("TakeBulk takes a status")
	}
}
