package slots

import (
	"encoding/json"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"0-16383", "0-16383"},
		{"7", "7"},
		{"9000,0-5460", "0-5460,9000"},
		{"0-3,4-7", "0-7"},
		{"16383,0", "0,16383"},
		{"", ""}, {"-", ""}, {"1-", ""}, {"5-4", ""}, {"16384", ""}, {"0-16384", ""}, {"0-4,4-5", ""}, {"1-9,3", ""},
		{"1, 2", ""}, {"+1", ""}, {"0x1", ""}, {"1,,2", ""}, {"-1", ""},
	} {
		s, err := Parse(tt.text)
		if got := s.String(); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("Parse(%q) = %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
}

func TestSet(t *testing.T) {
	s, err := Parse("0-9,20,30-39")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	var back Set
	if err2 := json.Unmarshal(text, &back); err != nil || err2 != nil || back.String() != s.String() {
		t.Errorf("%s and back is %v (%v, %v)", text, back, err, err2)
	}
	n := 0
	for slot := range Slot(Count) {
		want := slot <= 9 || slot == 20 || slot >= 30 && slot <= 39
		if s.Has(slot) != want {
			t.Errorf("Has(%d) is %v", slot, !want)
		}
		if want {
			n++
		}
		shared, any := s.Shared(Set{{slot, slot}})
		if any != want || any && shared != slot {
			t.Errorf("Shared with %d is %d, %v", slot, shared, any)
		}
	}
	if s.Len() != n || Whole.Len() != Count {
		t.Errorf("Len is %d, want %d; of all %d", s.Len(), n, Whole.Len())
	}
}
