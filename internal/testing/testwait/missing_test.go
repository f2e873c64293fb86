package testwait

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A skipper is a recorder that may be skipped.
type skipper struct {
	recorder
	skipped string
}

func (s *skipper) Skipf(format string, args ...any) {
	s.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// TestProgram looks for a program that is missing, and for a program that is installed.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "present"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	for _, tt := range []struct{ complete, program, failed, skipped, path string }{
		{"", "present", "", "", filepath.Join(dir, "present")},
		{"1", "present", "", "", filepath.Join(dir, "present")},
		{"", "absent", "", "installs absent", ""},
		{"1", "absent", "installs absent", "", ""},
	} {
		t.Setenv(completeVariable, tt.complete)
		var path string
		s := &skipper{}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			path = Program(s, tt.program)
		}()
		<-ended
		matches := func(text, want string) bool { return (text == "") == (want == "") && strings.Contains(text, want) }
		if path != tt.path || !matches(s.failed, tt.failed) || !matches(s.skipped, tt.skipped) {
			t.Errorf("%s=%q: %s is %q, failed %q, skipped %q; want %+v",
				completeVariable, tt.complete, tt.program, path, s.failed, s.skipped, tt)
		}
	}
}
