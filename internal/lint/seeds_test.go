package lint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// chanceAllowed are the files of tests that may use random numbers without a fixed seed, and
// why.
var chanceAllowed = map[string]string{
	"replication/cluster_test.go":   "the first port that is tried",
	"engine/bench_test.go":          "a benchmark",
	"engine/snapshot_bench_test.go": "a benchmark",
	"engine/topk/bench_test.go":     "a benchmark",
	"persist/store_stress_test.go":  "goroutines race, which no seed repeats",
}

// Tests take fixed seeds, from testwait.Seed, so that a check fails because of a change and
// not by chance: no function of math/rand without a source, and no seed from the time.
func TestSeedsAreFixed(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || chanceAllowed[path] != "" {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		for _, at := range seedsOfChance(file) {
			t.Errorf("%s: a seed or a number by chance: use testwait.Seed", files.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// seedsOfChance returns the calls in a file that give another seed or number at each run.
func seedsOfChance(file *ast.File) (all []token.Pos) {
	random := ""
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); path == "math/rand/v2" || path == "math/rand" {
			if random = "rand"; i.Name != nil {
				random = i.Name.Name
			}
		}
	}
	if random == "" {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		of, name := selected(call.Fun)
		switch {
		case of != random:
		case !strings.HasPrefix(name, "New"):
			all = append(all, call.Pos())
		case slices.ContainsFunc(call.Args, readsClock):
			all = append(all, call.Pos())
			return false
		}
		return true
	})
	// A seed may be a variable.
	ast.Inspect(file, func(n ast.Node) bool {
		assigned, ok := n.(*ast.AssignStmt)
		if !ok || len(assigned.Lhs) == 0 {
			return true
		}
		if name, ok := assigned.Lhs[0].(*ast.Ident); !ok || !strings.Contains(strings.ToLower(name.Name), "seed") {
			return true
		}
		if readsClock(assigned.Rhs[0]) {
			all = append(all, assigned.Pos())
		}
		return true
	})
	return all
}

// readsClock reports whether an expression has the time in it.
func readsClock(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			of, name := selected(call.Fun)
			found = found || of == "time" && name == "Now"
		}
		return true
	})
	return found
}

// selected returns the two parts of package.Function.
func selected(function ast.Expr) (of, name string) {
	s, ok := function.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if x, ok := s.X.(*ast.Ident); ok {
		return x.Name, s.Sel.Name
	}
	return "", s.Sel.Name
}

func TestSeedsOfChance(t *testing.T) {
	for text, want := range map[string]int{
		`import "math/rand/v2"; func f() { seed := rand.Uint64(); _ = rand.New(rand.NewPCG(seed, 1)) }`:                               1,
		`import "math/rand/v2"; func f() { seed := uint64(time.Now().UnixNano()); _ = rand.New(rand.NewPCG(seed, 1)) }`:               1,
		`import "math/rand/v2"; func f() { _ = rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) }`:                             1,
		`import chance "math/rand"; func f() { _ = chance.Intn(5) }`:                                                                  1,
		`import "math/rand/v2"; func f() { rng := rand.New(rand.NewPCG(testwait.Seed(t), 1)); _ = rng.IntN(5); start := time.Now() }`: 0,
		`import "crypto/rand"; func f() { rand.Read(nil) }`:                                                                           0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a_test.go", "package a; "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(seedsOfChance(file)); got != want {
			t.Errorf("%d findings, want %d, in %s", got, want, text)
		}
	}
}
