package testwait

import (
	"os"
	"os/exec"
	"testing"
)

// completeVariable is the environment variable that makes Missing fail. make test sets it.
const completeVariable = "TEST_COMPLETE"

// Missing skips a test that needs something that this machine lacks. With TEST_COMPLETE in the
// environment the test fails instead, so that no run of all checks leaves it out.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv(completeVariable) != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Program returns the path of a program that a test needs. If the program is not installed, it
// calls Missing.
func Program(t testing.TB, name string) (path string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "make needs installs %s: %v", name, err)
	}
	return path
}
