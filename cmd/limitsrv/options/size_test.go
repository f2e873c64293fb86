package options

import (
	"math"
	"testing"
)

func TestSizeParses(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Size
		back string
	}{
		{"0", 0, "0"},
		{"1000", 1000, "1000"},
		{"1000b", 1000, "1000"},
		{"1k", 1000, "1000"},
		{"1kb", 1024, "1kb"},
		{"2M", 2_000_000, "2000000"},
		{"256mb", 256 << 20, "256mb"},
		{"3g", 3_000_000_000, "3000000000"},
		{"3GB", 3 << 30, "3gb"},
		{"1536kb", 1536 << 10, "1536kb"},
		{"9223372036854775807", math.MaxInt64, "9223372036854775807"},
	} {
		var got Size
		if err := got.UnmarshalText([]byte(tt.text)); err != nil || got != tt.want {
			t.Errorf("%q is %d, %v, want %d", tt.text, got, err, tt.want)
		}
		if got.String() != tt.back {
			t.Errorf("String of %q = %q, want %q", tt.text, got, tt.back)
		}
	}
}

func TestSizeRejects(t *testing.T) {
	for _, text := range []string{"", "kb", "-1", "+1", "1.5gb", "1tb", "1 mb", "mb1", "9223372036854775808",
		"9223372036854775807kb"} {
		var got Size
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is accepted as %d", text, got)
		}
	}
}
