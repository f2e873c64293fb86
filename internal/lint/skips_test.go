package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// skipsAllowed are the files of tests that may skip tests or look for programs themselves, and
// why.
var skipsAllowed = map[string]string{
	"internal/testing/testwait/missing.go":    "skips tests, except in a run of all checks",
	"internal/testing/testwait/sequential.go": "skips tests that other checks run",
	"cmd/limitsrv/faults_linux_test.go":       "a child process that can't mount disks: its parent tries another way",
}

// A test that is skipped because the machine lacks something must fail in a run of all checks:
// tests use testwait.Missing and testwait.Program. The name of the file or a build tag leaves out
// a test on other systems and processors.
func TestSkipsFailInCompleteRuns(t *testing.T) {
	used := map[string]bool{}
	eachGoFile(t, func(path string, files *token.FileSet, file *ast.File) {
		if !strings.HasSuffix(path, "_test.go") && !strings.HasPrefix(path, "internal/testing/") {
			return
		}
		for _, at := range skips(file) {
			if used[path] = true; skipsAllowed[path] == "" {
				t.Errorf("%s: use testwait.Missing or testwait.Program", files.Position(at))
			}
		}
	})
	for path := range skipsAllowed {
		if !used[path] {
			t.Errorf("%s skips no test: remove its exception", path)
		}
	}
}

// skips returns the places in a file that skip a test or look for a program.
func skips(file *ast.File) (all []token.Pos) {
	names := []string{"Skip", "Skipf", "SkipNow", "LookPath"}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(names, s.Sel.Name) {
			all = append(all, s.Sel.Pos())
		}
		return true
	})
	return all
}

func TestSkips(t *testing.T) {
	for text, want := range map[string]int{
		`func TestA(t *testing.T) { if f() { t.Skip("no") }; t.Skipf("no"); t.SkipNow() }`:                     3,
		`func TestA(t *testing.T) { if _, err := exec.LookPath("zsh"); err != nil { return } }`:                1,
		`func TestA(t *testing.T) { testwait.Missing(t, "no"); testwait.Program(t, "zsh"); testwait.Long(t) }`: 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a_test.go", "package a; "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(skips(file)); got != want {
			t.Errorf("%d findings, want %d, in %s", got, want, text)
		}
	}
}
