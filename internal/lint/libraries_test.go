package lint_test

import (
	"bytes"
	"strings"
	"testing"
)

// maxLibraryLines bounds the sources of a library below clients: the Redis command is the
// interface, and a library only helps to use it.
const maxLibraryLines = 600

func TestLibrariesAreSmall(t *testing.T) {
	lines := map[string]int{}
	err := walkSources(func(name string, source []byte) error {
		parts := strings.Split(name, "/")
		if parts[0] == "clients" && !strings.Contains(name, "/test") && !strings.HasSuffix(name, "_test.go") {
			lines[parts[1]] += bytes.Count(source, []byte("\n"))
		}
		return nil
	}, ".go", ".js", ".d.ts", ".py", ".java")
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) < 4 {
		t.Errorf("libraries are in %v, want 4 folders of clients or more", lines)
	}
	for library, n := range lines {
		if n > maxLibraryLines {
			t.Errorf("clients/%s has %d lines, want at most %d", library, n, maxLibraryLines)
		}
	}
}
