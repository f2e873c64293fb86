package lint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
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

// TestReleaseHasWhatReadmeLinks: the archives of a release have each file or folder to which the README
// links.
func TestReleaseHasWhatReadmeLinks(t *testing.T) {
	script, err := os.ReadFile(".ci/release")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(string(script))
	links := regexp.MustCompile(`\]\(([A-Za-z][^):#]*)[)#]`).FindAllSubmatch(readme, -1)
	if len(links) < 20 {
		t.Fatalf("%d links are found", len(links))
	}
	for _, link := range links {
		if top, _, _ := strings.Cut(string(link[1]), "/"); !slices.Contains(words, top) {
			t.Errorf("the README links to %s, and .ci/release does not copy %s", link[1], top)
		}
	}
}
