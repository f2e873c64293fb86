package numbers

import "testing"

func TestExtendedCompare(t *testing.T) {
	ascending := []string{"-inf", "-1e4932", "-2", "-1.5", "-1e-30", "0", "1e-4950", "1e-30", "1.5", "2",
		"18446744073709551615", "18446744073709551616", "1e4932", "max", "inf"}
	parse := func(text string) Extended {
		if text == "max" {
			return MaxExtended
		}
		x, ok := ParseExtended([]byte(text))
		if !ok {
			t.Fatalf("%s is no number", text)
		}
		return x
	}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			x, y := parse(a), parse(b)
			if got := x.Cmp(y); got != want {
				t.Errorf("%s compared with %s is %d, want %d", a, b, got, want)
			}
			if got := y.Neg().Cmp(x.Neg()); got != want {
				t.Errorf("-%s compared with -%s is %d, want %d", b, a, got, want)
			}
		}
	}
	if x := parse("-0"); x.Sign() != 0 || x.Neg().Sign() != 0 || x.Cmp(Extended{}) != 0 {
		t.Errorf("-0 is not 0: %+v", x)
	}
}
