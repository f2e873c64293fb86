package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exampled lists the packages with an Example that their documentation shows.
var exampled = []string{"engine", "persist"}

// TestExamples requires that the documentation of these packages shows the body of their Example,
// which compiles and has its output checked.
func TestExamples(t *testing.T) {
	for _, name := range exampled {
		files := token.NewFileSet()
		about, err := parser.ParseFile(files, filepath.Join(name, "doc.go"), nil,
			parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			t.Fatal(err)
		}
		body, ok := exampleBody(t, filepath.Join(name, "example_test.go"))
		if !ok {
			t.Errorf("%s has no Example in example_test.go", name)
		} else if !strings.Contains(about.Doc.Text(), body) {
			t.Errorf("the documentation of %s does not show its Example:\n%s", name, body)
		}
	}
}

// exampleBody returns the body of the function Example of a file up to its output.
func exampleBody(t *testing.T, path string) (body string, ok bool) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if f, isFunc := d.(*ast.FuncDecl); isFunc && f.Name.Name == "Example" {
			lines := text[files.Position(f.Body.Lbrace).Offset+2 : files.Position(f.Body.Rbrace).Offset]
			body, _, _ = strings.Cut(string(lines), "\t// Output:")
			return body, true
		}
	}
	return "", false
}
