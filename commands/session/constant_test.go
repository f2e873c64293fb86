package session

import (
	"testing"

	"limitsrv/commands/resp"
)

// A constant is rendered once for each protocol.
func TestConstant(t *testing.T) {
	var c Constant
	rendered := 0
	render := func(w *resp.Writer) {
		rendered++
		w.Map(1)
		w.Pair("a", "b")
	}
	for _, proto3 := range []bool{false, true, false, true} {
		var want resp.Writer
		want.Proto3 = proto3
		want.Map(1)
		want.Pair("a", "b")
		w := resp.Writer{Proto3: proto3, Buf: []byte("+x\r\n")}
		if c.Write(&w, render); string(w.Buf) != "+x\r\n"+string(want.Buf) {
			t.Errorf("RESP3 %v: wrote %q, want %q", proto3, w.Buf, want.Buf)
		}
	}
	if rendered != 2 {
		t.Errorf("rendered %d times, want 2", rendered)
	}
}
