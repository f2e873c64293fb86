package persist

import (
	"encoding/hex"
	"errors"
	"testing"

	"limitsrv/engine"
)

// TestStatements checks the bytes of a statement, and how a Decoder reads it.
func TestStatements(t *testing.T) {
	var e Entry
	e.State(Effects{Index: 300, Sum: 0x0102030405060708})
	e.Append(1, &engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("k")}}})
	const want = "02" + "0eac020807060504030201" + "0f020100016b"
	if got := hex.EncodeToString(e.Bytes()); got[:24] != want[:24] {
		t.Errorf("%s, want %s", got, want)
	}
	none := func(engine.Instant, *engine.Batch) error { return nil }
	failed := errors.New("failed")
	for _, stated := range []error{nil, failed} {
		var got Effects
		batches := 0
		d := Decoder{Stated: func(x Effects) error { got = x; return stated }}
		err := d.Decode(e.Bytes(), func(engine.Instant, *engine.Batch) error { batches++; return nil })
		if got.Index != 300 || got.Sum != 0x0102030405060708 || err != stated || (batches == 1) != (stated == nil) {
			t.Errorf("decoded %+v, %d batches, %v", got, batches, err)
		}
	}
	d := new(Decoder)
	if err := d.Decode(e.Bytes(), none); err != nil {
		t.Errorf("without Stated: %v", err)
	}
	for _, text := range []string{"020e", "020eac02", "020eac0208070605040302", "010e0508070605040302010f0200016b",
		"020f0200016b0e050807060504030201"} {
		data, _ := hex.DecodeString(text)
		if d.Decode(data, none) == nil {
			t.Errorf("%s is decoded", text)
		}
	}
}
