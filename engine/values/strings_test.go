package values

import (
	"bytes"
	"testing"
)

func TestStringModel(t *testing.T) {
	drive(t, stringKind, 300, func(d *driven, texts int) (func(), func() []string) {
		var model []byte
		return func() {
			v := d.store.String(d.head)
			b := randomText(d.r, 3000)
			switch d.r.IntN(8) {
			case 0, 1:
				if d.r.IntN(4) == 0 {
					b = bytes.Repeat([]byte("large "), d.r.IntN(texts*20))
				}
				v.Set(b)
				model = append([]byte{}, b...)
				if want := map[bool]string{true: "embstr", false: "raw"}[len(b) <= 44]; v.Ref.Encoding() != want {
					d.Fatalf("%d bytes are %s, want %s", len(b), v.Ref.Encoding(), want)
				}
			case 2, 3, 4:
				v.Write(v.Count, b)
				model = append(model, b...)
			case 5:
				at := d.r.IntN(len(model) + 1 + texts*d.r.IntN(50))
				v.Write(at, b)
				model = append(model, make([]byte, max(0, at+len(b)-len(model)))...)
				copy(model[at:], b)
			default:
				from := d.r.IntN(len(model) + 1)
				to := from + d.r.IntN(len(model)-from+1)
				if got := v.Append(nil, from, to); !bytes.Equal(got, model[from:to]) {
					d.Fatalf("Append(%d, %d) = %.50q, want %.50q", from, to, got, model[from:to])
				}
			}
			d.head = v.Head
			if d.head.Count != len(model) {
				d.Fatalf("Count = %d, want %d", d.head.Count, len(model))
			}
		}, func() []string { return []string{string(model)} }
	})
}

func TestLongestString(t *testing.T) {
	s := New(testSeed)
	v := s.String(Head{})
	v.Write(MaxText-1, []byte("x"))
	if b := v.Append(nil, MaxText-3, MaxText); v.Count != MaxText || string(b) != "\x00\x00x" {
		t.Errorf("%d bytes, at the end %q", v.Count, b)
	}
	v.Write(1, []byte("y"))
	if got := v.Ref.Encoding(); got != "raw" {
		t.Errorf("encoding is %s, want raw", got)
	}
	s.Free(v.Head)
	if s.Bytes() != 0 {
		t.Errorf("%d bytes are used, want 0", s.Bytes())
	}
}
