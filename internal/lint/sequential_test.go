package lint_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A test that calls testwait.Sequential is skipped under the race detector, and .ci/sequential
// must print it, or no check runs it.
func TestSequentialIsFirst(t *testing.T) {
	output, err := exec.Command(".ci/sequential").Output()
	if err != nil {
		t.Fatalf(".ci/sequential: %v", err)
	}
	printed := map[string]bool{}
	for line := range strings.Lines(string(output)) {
		printed[strings.TrimSpace(line)] = true
	}
	called := map[string]bool{}
	eachGoFile(t, func(path string, files *token.FileSet, file *ast.File) {
		tests, wrong := sequentialCalls(file)
		for _, name := range tests {
			test := fmt.Sprintf("./%s %s", filepath.Dir(path), name)
			if called[test] = true; !printed[test] {
				t.Errorf("%s: .ci/sequential does not print %s: the line below func must be testwait.Sequential(t)", path, name)
			}
		}
		if path == "internal/testing/testwait/sequential.go" { // it declares the function
			wrong = nil
		}
		for _, at := range wrong {
			t.Errorf("%s: Sequential must be called in the first statement of a test, and only there", files.Position(at))
		}
	})
	for test := range printed {
		if !called[test] {
			t.Errorf(".ci/sequential prints %q, which does not call testwait.Sequential", test)
		}
	}
}

// eachGoFile parses the Go files that walkSources finds.
func eachGoFile(t *testing.T, f func(path string, files *token.FileSet, file *ast.File)) {
	t.Helper()
	files := token.NewFileSet()
	err := walkSources(func(name string, source []byte) error {
		file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
		if err == nil {
			f(name, files, file)
		}
		return err
	}, ".go")
	if err != nil {
		t.Fatal(err)
	}
}

// sequentialCalls returns the tests of a file that call Sequential in their first statement, and
// every other place that names Sequential.
func sequentialCalls(file *ast.File) (tests []string, wrong []token.Pos) {
	first := map[token.Pos]bool{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Body == nil || len(f.Body.List) == 0 {
			continue
		}
		statement, _ := f.Body.List[0].(*ast.ExprStmt)
		if statement == nil {
			continue
		}
		call, _ := statement.X.(*ast.CallExpr)
		if call == nil {
			continue
		}
		if s, ok := call.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Sequential" {
			first[s.Sel.Pos()] = true
			tests = append(tests, f.Name.Name)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "Sequential" && !first[id.Pos()] {
			wrong = append(wrong, id.Pos())
		}
		return true
	})
	return tests, wrong
}

func TestSequentialCalls(t *testing.T) {
	for text, want := range map[string]string{
		`func TestA(t *testing.T) { testwait.Sequential(t); f() }`:                                     "[TestA] 0",
		`func TestA(t *testing.T) { f(); testwait.Sequential(t) }`:                                     "[] 1",
		`func TestA(t *testing.T) { if f() { testwait.Sequential(t) } }`:                               "[] 1",
		`func TestA(t *testing.T) { t.Run("b", func(t *testing.T) { testwait.Sequential(t) }) }`:       "[] 1",
		`func TestA(t *testing.T) { testwait.Sequential(t); testwait.Sequential(t) }`:                  "[TestA] 1",
		`func helper(t *testing.T) { testwait.Sequential(t) }`:                                         "[] 1",
		`func BenchmarkA(b *testing.B) { testwait.Sequential(b) }`:                                     "[] 1",
		`func TestA(t *testing.T) { Sequential(t) }`:                                                   "[] 1",
		`var skip = testwait.Sequential; func TestA(t *testing.T) { skip(t) }; func TestB(*testing.T)`: "[] 1",
		`func TestA(t *testing.T) { testwait.Long(t) }`:                                                "[] 0",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a_test.go", "package a; "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		tests, wrong := sequentialCalls(file)
		if got := fmt.Sprint(tests, len(wrong)); got != want {
			t.Errorf("%s, want %s, in %s", got, want, text)
		}
	}
}
