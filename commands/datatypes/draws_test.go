package datatypes

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"limitsrv/commands/spec"
)

// TestDraws reads the source of this package: a command has the flag Draws if, and only if, its
// function may reach Tx.Random.
func TestDraws(t *testing.T) {
	calls, commands := map[string][]string{}, map[string]string{}
	for _, f := range sourceFiles(t) {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				calls[d.Name.Name] = append(calls[d.Name.Name], namesIn(d)...)
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if line, ok := n.(*ast.CompositeLit); ok {
				name, do := "", ""
				for _, e := range line.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						switch key, _ := kv.Key.(*ast.Ident); {
						case key != nil && key.Name == "Name":
							name = strings.Trim(kv.Value.(*ast.BasicLit).Value, `"`)
						case key != nil && key.Name == "Body":
							do = doOf(kv.Value)
						}
					}
				}
				if name != "" && do != "" {
					commands[name] = do
				}
			}
			return true
		})
	}
	var draws func(f string, seen map[string]bool) bool
	draws = func(f string, seen map[string]bool) bool {
		if seen[f] {
			return false
		}
		seen[f] = true
		for _, callee := range calls[f] {
			if callee == "Random" || draws(callee, seen) {
				return true
			}
		}
		return false
	}
	for i := range table {
		c := &table[i]
		if c.Name == "" {
			continue
		}
		if commands[c.Name] == "" {
			t.Errorf("%s: its function was not found", c.Name)
		}
		if got, want := c.Flags&spec.Draws != 0, draws(commands[c.Name], map[string]bool{}); got != want {
			t.Errorf("%s has the flag Draws: %t, want %t", c.Name, got, want)
		}
	}
}

// doOf returns the name of the function in a Body: &spec.Call{Do: NAME, ...}, with Do: with(NAME, ...),
// or NAME(...).
func doOf(body ast.Expr) string {
	switch body := body.(type) {
	case *ast.CallExpr:
		return body.Fun.(*ast.Ident).Name
	case *ast.UnaryExpr:
		for _, e := range body.X.(*ast.CompositeLit).Elts {
			kv := e.(*ast.KeyValueExpr)
			if kv.Key.(*ast.Ident).Name != "Do" {
				continue
			}
			if call, ok := kv.Value.(*ast.CallExpr); ok {
				return call.Args[0].(*ast.Ident).Name
			}
			return kv.Value.(*ast.Ident).Name
		}
	}
	return ""
}

func sourceFiles(t *testing.T) (files []*ast.File) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// namesIn returns the names that a function uses, except names of other packages.
func namesIn(f *ast.FuncDecl) (names []string) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && x.Obj == nil { // a package
				return false
			}
			names = append(names, n.Sel.Name)
			ast.Inspect(n.X, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					names = append(names, namesIn(&ast.FuncDecl{Body: &ast.BlockStmt{List: []ast.Stmt{&ast.ExprStmt{X: call}}}})...)
				}
				return true
			})
			return false
		case *ast.Ident:
			names = append(names, n.Name)
		}
		return true
	})
	return names
}
