// Package lint_test checks the code against its architecture: the permitted imports
// of each package, the restrictions of the code that Apply reaches, the length of files, and the words
// of comments and docs.
package lint_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "limitsrv"

// testArrows lists further imports that every test may have. A test may also import our
// packages that its package imports indirectly.
var testArrows = []string{
	"github.com/cockroachdb/datadriven", "pgregory.net/rapid", "github.com/anishathalye/porcupine",
	"limitsrv/internal/testing/faultnet", "limitsrv/internal/testing/browser", "limitsrv/internal/testing/testwait",
	"limitsrv/internal/testing/freeport", "limitsrv/internal/testing/redistest",
	"limitsrv/replication/offline", "limitsrv/internal/testing/simtest", "limitsrv/commands/rules/boundtest",
	"limitsrv/commands/rules/storedtest", "limitsrv/engine/enginetest",
	"github.com/chromedp/chromedp", "github.com/envoyproxy/go-control-plane/envoy", "google.golang.org/grpc",
	"google.golang.org/protobuf",
}

// testArrowsOf lists the further imports of the tests of a package.
var testArrowsOf = map[string][]string{
	"cmd/limitsrv/state":       {"limitsrv/commands"},
	"commands/rules/live":      {"limitsrv/commands/spec"},
	"internal/testing/simtest": {"limitsrv/persist"},
	"server":                   {"limitsrv/commands"},
	"server/rls":               {"limitsrv/commands"},
}

// foreignFolders have packages that may import any module except ours.
var foreignFolders = []string{"clients", "clients-test", "deploy/check"}

const (
	maxLines     = 400
	maxTestLines = 600
	maxColumns   = 120 // bytes of a line without a part of a raw string
)

// reminder matches notes of work left to do.
var reminder = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

func TestArchitecture(t *testing.T) {
	files := token.NewFileSet()
	seen := 0
	err := walkSources(func(name string, source []byte) error {
		seen++
		for _, complaint := range complaints(files, name, source) {
			t.Error(complaint)
		}
		return nil
	}, ".go")
	if err != nil {
		t.Fatal(err)
	}
	if seen < 10 {
		t.Fatalf("%d files were checked, want at least 10", seen)
	}
}

// walkSources calls do for each file with one of the suffixes, except in test data, builds and
// hidden folders. name is relative to the root, with slashes.
func walkSources(do func(name string, source []byte) error, suffixes ...string) error {
	return filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if base := entry.Name(); name != "." && (base[0] == '.' || base == "testdata" || base == "node_modules" ||
				name == "clients/python/build") {
				return fs.SkipDir
			}
			return nil
		case !slices.Contains(suffixes, filepath.Ext(name)):
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return do(filepath.ToSlash(name), source)
	})
}

// complaints returns the violations in a file. name is relative to the root.
func complaints(files *token.FileSet, name string, source []byte) []string {
	file, err := parser.ParseFile(files, name, source, parser.ParseComments)
	if err != nil {
		return []string{err.Error()}
	}
	var all []string
	complain := func(at token.Pos, format string, args ...any) {
		all = append(all, fmt.Sprintf("%s: %s", files.Position(at), fmt.Sprintf(format, args...)))
	}
	isTest := strings.HasSuffix(name, "_test.go")
	limit := maxLines
	if isTest {
		limit = maxTestLines
	}
	if lines := files.File(file.Pos()).LineCount(); lines > limit {
		complain(file.Pos(), "%d lines, want at most %d", lines, limit)
	}
	checkImports(file, path.Dir(name), isTest, complain)
	checkReminders(file, complain)
	checkColumns(files, file, source, complain)
	return all
}

// generated matches the comment of a file that a program writes.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// checkColumns reports lines that are too long, except in generated files.
func checkColumns(files *token.FileSet, file *ast.File, source []byte, complain func(token.Pos, string, ...any)) {
	if generated.Match(source) {
		return
	}
	raw := map[int]bool{} // lines with a part of a raw string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Value[0] == '`' {
			for line := files.Position(lit.Pos()).Line; line <= files.Position(lit.End()).Line; line++ {
				raw[line] = true
			}
		}
		return true
	})
	number := 0
	for line := range bytes.Lines(source) {
		number++
		if columns := len(bytes.TrimSuffix(line, []byte("\n"))); columns > maxColumns && !raw[number] {
			complain(files.File(file.Pos()).LineStart(number), "%d columns, want at most %d", columns, maxColumns)
		}
	}
}

// checkImports reports imports that are not permitted.
func checkImports(file *ast.File, dir string, isTest bool, complain func(token.Pos, string, ...any)) {
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			complain(spec.Pos(), "import of %s", spec.Path.Value)
			continue
		}
		switch {
		case isStandard(imported):
		case among(dir, foreignFolders):
			if under(imported, module) {
				complain(spec.Pos(), "%s may not import %s of this module", dir, imported)
			}
		case isTest && among(imported, slices.Concat(reach(dir), testArrows, testArrowsOf[dir])):
		case !isTest && among(imported, arrows[dir]):
		default:
			complain(spec.Pos(), "%s may not import %s", dir, imported)
		}
	}
}

// reach returns the permitted imports of a package, the package itself, and the imports
// of our packages among them, recursively.
func reach(dir string) []string {
	all := append([]string{path.Join(module, dir)}, arrows[dir]...)
	for _, imported := range arrows[dir] {
		if below, ours := strings.CutPrefix(imported, module+"/"); ours {
			all = append(all, reach(below)...)
		}
	}
	return all
}

// checkReminders reports reminders and init functions.
func checkReminders(file *ast.File, complain func(token.Pos, string, ...any)) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if word := reminder.FindString(comment.Text); word != "" {
				complain(comment.Pos(), "%s: resolve it or remove it", word)
			}
		}
	}
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			complain(f.Pos(), "an init function")
		}
	}
}

// isStandard reports whether a package is in the standard library: the first element of
// its path has no dot and is not our module.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return first != module && !strings.Contains(first, ".")
}

// among reports whether a package is one of some or below one of them.
func among(imported string, some []string) bool {
	return slices.ContainsFunc(some, func(one string) bool { return under(imported, one) })
}

// under reports whether a path is root or below it.
func under(name, root string) bool {
	return name == root || strings.HasPrefix(name, root+"/")
}

func TestArchitectureComplains(t *testing.T) {
	for _, tt := range []struct {
		name, file, source string
		want               string // substring of the only complaint; empty: no complaint
	}{
		{"the standard library", "server/a.go", `import "net"`, ""},
		{"an arrow", "server/a.go", `import "limitsrv/commands/session"`, ""},
		{"an arrow of another module", "persist/a.go", `import "github.com/cockroachdb/pebble/v2/vfs"`, ""},
		{"a name that only starts alike", "persist/a.go", `import "github.com/cockroachdb/pebble/v20"`, "may not import"},
		{"a package below its arrow", "server/a.go", `import "limitsrv/commands/resp"`, ""},
		{"an arrow from below", "commands/resp/a.go", `import "limitsrv/commands"`,
			"commands/resp may not import limitsrv/commands"},
		{"an arrow that skips one", "server/a.go", `import "limitsrv/engine"`, "server may not import limitsrv/engine"},
		{"the same in a test", "server/a_test.go", `import "limitsrv/engine"`, ""},
		{"an arrow upwards", "engine/a.go", `import "limitsrv/commands"`, "engine may not import limitsrv/commands"},
		{"an arrow upwards in a test", "engine/a_test.go", `import "limitsrv/commands"`, "engine may not import"},
		{"itself in a test", "engine/a_test.go", `import "limitsrv/engine"`, ""},
		{"a test library", "engine/a_test.go", `import "pgregory.net/rapid"`, ""},
		{"a test library outside a test", "engine/a.go", `import "pgregory.net/rapid"`, "engine may not import"},
		{"a package for tests", "engine/a_test.go", `import "limitsrv/internal/testing/testwait"`, ""},
		{"a package for tests outside a test", "server/a.go", `import "limitsrv/internal/testing/testwait"`,
			"server may not import"},
		{"ours in the benchmark", "tools/bench/a.go", `import "limitsrv/engine"`, "tools/bench may not import"},
		{"a package without arrows", "util/a.go", `import "limitsrv/engine"`, "util may not import"},
		{"a client library in clients-test", "clients-test/a/a.go", `import "github.com/redis/go-redis/v9"`, ""},
		{"types of Kubernetes in deploy/check", "deploy/check/a_test.go", `import "k8s.io/api/apps/v1"`, ""},
		{"our package in clients-test", "clients-test/a/a.go", `import "limitsrv/server"`, "of this module"},
		{"init", "server/a.go", `func init() {}`, "an init function"},
		{"a method called init", "server/a.go", `type t int; func (t) init() {}`, ""},
		{"a reminder", "server/a.go", "// TO" + "DO: more", "resolve it"},
		{"a long file", "server/a.go", strings.Repeat("\n", maxLines+1), "401 lines"},
		{"a file of the maximum length", "server/a.go", strings.Repeat("\n", maxLines), ""},
		{"a longer test", "server/a_test.go", strings.Repeat("\n", maxLines+1), ""},
		{"a long line", "server/a.go", "\nvar text = \"" + strings.Repeat("a", maxColumns) + "\"", "133 columns"},
		{"a long line in a raw string", "server/a.go", "\nvar text = `\n" + strings.Repeat("a", maxColumns+1) + "`", ""},
		{"a syntax error", "server/a.go", "func", "expected"},
	} {
		got := complaints(token.NewFileSet(), tt.file, []byte("package p; "+tt.source))
		switch {
		case tt.want == "" && len(got) > 0:
			t.Errorf("%s: %q, want no complaint", tt.name, got)
		case tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)):
			t.Errorf("%s: %q, want one complaint with %q", tt.name, got, tt.want)
		}
	}
}
