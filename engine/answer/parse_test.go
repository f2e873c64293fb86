package answer

import (
	"bytes"
	"testing"
)

// TestAppendReply parses a rendered answer.
func TestAppendReply(t *testing.T) {
	all := AppendArray(nil, 7)
	all = AppendInt(all, -5)
	all = AppendBulk(all, []byte("a\r\n:1\r\n"))
	all = AppendArray(all, 2)
	all = AppendNil(all)
	all = AppendNilArray(all)
	all = AppendBulk(all, nil)
	all = AppendStatus(all, "OK")
	all = AppendError(all, "ERR no: 'x'")
	all = AppendArray(all, 0)
	if got := AppendReply([]byte("x"), AppendTo(nil, all, RESP2)); !bytes.Equal(got, append([]byte("x"), all...)) {
		t.Errorf("got %q, want %q", got, all)
	}
}
