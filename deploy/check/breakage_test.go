package check

import (
	"os"
	"strings"
	"testing"
)

// A breakage replaces from by to in a file. A check must then complain with want.
type breakage struct{ name, from, to, want string }

// checkBreakages breaks a file in one place at a time, and checks the complaints or the
// error that complaints returns.
func checkBreakages(t *testing.T, file string, complaints func(text []byte) ([]string, error), all []breakage) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	breakText(t, file, string(text), complaints, all)
}

// breakText is checkBreakages of a text that is called file.
func breakText(t *testing.T, file, text string, complaints func(text []byte) ([]string, error), all []breakage) {
	t.Helper()
	for _, b := range all {
		broken := strings.Replace(text, b.from, b.to, 1)
		if broken == text {
			t.Errorf("%s: %q is not in %s", b.name, b.from, file)
			continue
		}
		found, err := complaints([]byte(broken))
		got := strings.Join(found, "; ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, b.want) {
			t.Errorf("%s: got %q, want a complaint with %q", b.name, got, b.want)
		}
	}
}
