package lint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
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

// TestNodeReadmeInstallsAPackage: npm install of a directory makes a link, so that Node.js does not
// find the dependencies of the library.
func TestNodeReadmeInstallsAPackage(t *testing.T) {
	readme, err := os.ReadFile("clients/node/README.md")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := os.ReadFile("clients/node/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Name, Version string }
	if err := json.Unmarshal(manifest, &made); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("npm pack /path/to/limitsrv/clients/node\nnpm install ./%s-%s.tgz\n", made.Name, made.Version)
	if !strings.Contains(string(readme), want) || strings.Count(string(readme), "npm install") != 1 {
		t.Errorf("clients/node/README.md does not install the package alone by %q", want)
	}
}
