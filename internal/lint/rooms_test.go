package lint_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// smallPackage is the number of files up to which a package may be a circle.
const smallPackage = 5

// A listedPackage is a package as go list prints it.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Module                  *struct{ Main bool }
}

// listPackages returns all packages that the module needs, with their compiled types.
func listPackages(t *testing.T) map[string]listedPackage {
	t.Helper()
	list := exec.Command("go", "list", "-pgo=off", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Module",
		"./...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]listedPackage{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listedPackage
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
	return all
}

// references returns the references between the files of a package: for each file, the
// files with declarations that it uses.
func references(p listedPackage, exports func(path string) (io.ReadCloser, error)) (map[string][]string, error) {
	files := token.NewFileSet()
	var syntax []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		syntax = append(syntax, f)
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", exports)}
	pkg, err := config.Check(p.ImportPath, files, syntax, &info)
	if err != nil {
		return nil, err
	}
	graph := map[string][]string{}
	for id, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() {
			continue
		}
		from, to := files.Position(id.Pos()).Filename, files.Position(object.Pos()).Filename
		if from != to && !slices.Contains(graph[from], to) {
			graph[from] = append(graph[from], to)
		}
	}
	return graph, nil
}

// largestCircle returns the largest set of nodes that all reach each other.
func largestCircle(graph map[string][]string) (largest []string) {
	reached := map[string]map[string]bool{}
	for from := range graph {
		seen := map[string]bool{}
		for rest := slices.Clone(graph[from]); len(rest) > 0; {
			next := rest[len(rest)-1]
			rest = rest[:len(rest)-1]
			if !seen[next] {
				seen[next] = true
				rest = append(rest, graph[next]...)
			}
		}
		reached[from] = seen
	}
	for from, seen := range reached {
		var circle []string
		for to := range seen {
			if reached[to][from] {
				circle = append(circle, filepath.Base(to))
			}
		}
		if len(circle) > len(largest) {
			largest = circle
		}
	}
	slices.Sort(largest)
	return largest
}

// TestRooms requires that in each package at most half of the files refer to each other in
// a circle, because only together such files can be understood.
func TestRooms(t *testing.T) {
	testwait.Long(t) // it needs all packages compiled
	all := listPackages(t)
	exports := func(path string) (io.ReadCloser, error) {
		p, ok := all[path]
		if !ok {
			return nil, fmt.Errorf("go list does not know %s", path)
		}
		return os.Open(p.Export)
	}
	for name, p := range all {
		if p.Module == nil || !p.Module.Main || len(p.GoFiles) <= smallPackage {
			continue
		}
		graph, err := references(p, exports)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if circle := largestCircle(graph); len(circle) > len(p.GoFiles)/2 {
			t.Errorf("in %s %d of %d files refer to each other in a circle: %s; "+
				"move declarations or give one side an interface", name, len(circle), len(p.GoFiles), strings.Join(circle, " "))
		}
	}
}

func TestLargestCircle(t *testing.T) {
	graph := map[string][]string{
		"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a", "f2"},
	}
	if got := largestCircle(graph); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the largest circle is %v, want a, b and c", got)
	}
}
