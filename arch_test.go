// Package limitsrv_test holds the code to its own architecture: which package
// may import which, what the engine may not touch, how long a file may be.
package limitsrv_test

import (
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

// arrows are what each package may import besides the standard library. A name
// stands for what is below it too. A package that is not here may import nothing.
//
//	cmd/limitsrv -> server/admin -> server -> commands -> engine <- persist <- replication -> certs -> files
//
// cmd/limitsrv knows them all; server/admin/page is files, which it hands to
// server/admin. browser and testwait are for tests, faultnet and freeport for these and bench.
var arrows = map[string][]string{
	".":              {},
	"engine":         {},
	"commands":       {"limitsrv/engine", "limitsrv/commands/users", "limitsrv/fatal", "github.com/tidwall/redcon"},
	"commands/users": {"limitsrv/beat", "limitsrv/files", "golang.org/x/crypto", "github.com/goccy/go-yaml"},
	"server":         {"limitsrv/beat", "limitsrv/commands", "limitsrv/fatal"},
	"certs":          {"limitsrv/files"},
	"beat":           {},
	"files":          {},
	"fatal":          {},
	"server/admin": {
		"limitsrv/engine", "limitsrv/beat", "limitsrv/commands", "limitsrv/server", "github.com/prometheus/client_golang/prometheus",
	},
	"persist": {
		"limitsrv/engine", "limitsrv/fatal", "github.com/cockroachdb/pebble/v2", "github.com/hashicorp/raft-wal", "github.com/hashicorp/raft",
		"github.com/hashicorp/go-hclog",
	},
	"replication": {
		"limitsrv/engine", "limitsrv/persist", "limitsrv/certs", "limitsrv/files", "github.com/hashicorp/raft", "github.com/hashicorp/raft-boltdb/v2",
		"github.com/hashicorp/go-hclog", "go.etcd.io/bbolt", "github.com/cockroachdb/pebble/v2/vfs",
	},
	"cmd/limitsrv": {
		"limitsrv/engine", "limitsrv/commands", "limitsrv/commands/users", "limitsrv/server", "limitsrv/server/admin", "limitsrv/persist", "limitsrv/replication", "limitsrv/certs", "limitsrv/files", "limitsrv/beat",
		"github.com/alecthomas/kong", "github.com/goccy/go-yaml", "github.com/coreos/go-systemd/v22/daemon", "golang.org/x/term",
	},
	"server/admin/page": {},
	"browser":           {"limitsrv/testwait", "github.com/chromedp/chromedp", "github.com/chromedp/cdproto"},
	"faultnet":          {},
	"testwait":          {},
	"freeport":          {},
	"bench":             {"limitsrv/faultnet", "limitsrv/freeport"},
}

// testArrows are what the tests of any package may import as well; and they may
// import of ours what their package does by way of others.
var testArrows = []string{
	"github.com/cockroachdb/datadriven", "pgregory.net/rapid", "github.com/anishathalye/porcupine", "limitsrv/faultnet", "limitsrv/browser", "limitsrv/testwait", "limitsrv/freeport",
	"github.com/chromedp/chromedp",
}

// stranger is a folder whose packages may import anything but ours.
const stranger = "clients-test"

const (
	maxLines     = 400
	maxTestLines = 600
)

// noEngineImports are what the engine, but for its tests, does without: it has no
// clock, randomness, log or I/O. A name stands for what is below it too.
var noEngineImports = []string{"log", "os", "net", "math/rand", "crypto/rand", "syscall", "io"}

// noEngineClock are what it may not use of package time.
var noEngineClock = []string{
	"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker",
}

// reminder is a note of work left to do.
var reminder = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

func TestArchitecture(t *testing.T) {
	files := token.NewFileSet()
	seen := 0
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); name != "." && (base[0] == '.' || base == "testdata" || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		seen++
		for _, complaint := range complaints(files, filepath.ToSlash(name), source) {
			t.Error(complaint)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 10 {
		t.Fatalf("only %d files were looked at", seen)
	}
}

// complaints are what is wrong with one file, whose name starts at the root.
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
		complain(file.Pos(), "%d lines, at most %d are wanted", lines, limit)
	}
	checkImports(file, path.Dir(name), isTest, complain)
	checkWords(file, complain)
	if path.Dir(name) == "engine" && !isTest {
		checkEngine(file, complain)
	}
	return all
}

// checkImports finds arrows that are not among the allowed.
func checkImports(file *ast.File, dir string, isTest bool, complain func(token.Pos, string, ...any)) {
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			complain(spec.Pos(), "import of %s", spec.Path.Value)
			continue
		}
		switch {
		case isStandard(imported):
		case under(dir, stranger):
			if under(imported, module) {
				complain(spec.Pos(), "%s imports nothing of ours, but %s", dir, imported)
			}
		case isTest && among(imported, slices.Concat(reach(dir), testArrows)):
		case !isTest && among(imported, arrows[dir]):
		default:
			complain(spec.Pos(), "%s may not import %s", dir, imported)
		}
	}
}

// reach is what a package imports, itself, and what those of ours import in turn.
func reach(dir string) []string {
	all := append([]string{path.Join(module, dir)}, arrows[dir]...)
	for _, imported := range arrows[dir] {
		if below, ours := strings.CutPrefix(imported, module+"/"); ours {
			all = append(all, reach(below)...)
		}
	}
	return all
}

// checkWords finds reminders and init functions.
func checkWords(file *ast.File, complain func(token.Pos, string, ...any)) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if word := reminder.FindString(comment.Text); word != "" {
				complain(comment.Pos(), "%s: do it, or leave it", word)
			}
		}
	}
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			complain(f.Pos(), "an init function")
		}
	}
}

// checkEngine finds whatever would make a decision depend on more than state,
// time and op.
func checkEngine(file *ast.File, complain func(token.Pos, string, ...any)) {
	for _, spec := range file.Imports {
		imported := strings.Trim(spec.Path.Value, `"`)
		if among(imported, noEngineImports) {
			complain(spec.Pos(), "engine does without %s", imported)
		}
		if imported == "time" && spec.Name != nil {
			complain(spec.Pos(), "time by another name")
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt:
			complain(n.Pos(), "engine has no goroutine")
		case *ast.SelectorExpr:
			if from, ok := n.X.(*ast.Ident); ok && from.Name == "time" && slices.Contains(noEngineClock, n.Sel.Name) {
				complain(n.Pos(), "engine has no clock, but time.%s", n.Sel.Name)
			}
		}
		return true
	})
}

// isStandard says whether a package is of the standard library: those have no dot
// in the first part of their names, and are not ours.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return first != module && !strings.Contains(first, ".")
}

// among says whether a package is one of some or below one.
func among(imported string, some []string) bool {
	return slices.ContainsFunc(some, func(one string) bool { return under(imported, one) })
}

// under says whether a path is another or below it.
func under(name, root string) bool {
	return name == root || strings.HasPrefix(name, root+"/")
}

func TestArchitectureComplains(t *testing.T) {
	for _, tt := range []struct {
		name, file, source string
		want               string // in the one complaint; empty: there is none
	}{
		{"the standard library", "server/a.go", `import "net"`, ""},
		{"an arrow", "server/a.go", `import "limitsrv/commands"`, ""},
		{"an arrow of another module", "persist/a.go", `import "github.com/cockroachdb/pebble/v2/vfs"`, ""},
		{"a name that only starts alike", "persist/a.go", `import "github.com/cockroachdb/pebble/v20"`, "may not import"},
		{"an arrow that skips one", "server/a.go", `import "limitsrv/engine"`, "server may not import limitsrv/engine"},
		{"the same in a test", "server/a_test.go", `import "limitsrv/engine"`, ""},
		{"an arrow upwards", "engine/a.go", `import "limitsrv/commands"`, "engine may not import limitsrv/commands"},
		{"an arrow upwards in a test", "engine/a_test.go", `import "limitsrv/commands"`, "engine may not import"},
		{"itself in a test", "engine/a_test.go", `import "limitsrv/engine"`, ""},
		{"a test library", "engine/a_test.go", `import "pgregory.net/rapid"`, ""},
		{"a test library outside a test", "engine/a.go", `import "pgregory.net/rapid"`, "engine may not import"},
		{"the patience of tests", "engine/a_test.go", `import "limitsrv/testwait"`, ""},
		{"the patience of tests outside a test", "server/a.go", `import "limitsrv/testwait"`, "server may not import"},
		{"ours in the benchmark", "bench/a.go", `import "limitsrv/engine"`, "bench may not import"},
		{"a package nobody planned", "util/a.go", `import "limitsrv/engine"`, "util may not import"},
		{"a client where clients are tried", "clients-test/a/a.go", `import "github.com/redis/go-redis/v9"`, ""},
		{"ours where clients are tried", "clients-test/a/a.go", `import "limitsrv/server"`, "nothing of ours"},
		{"files in the engine", "engine/a.go", `import "os"`, "engine does without os"},
		{"files in its tests", "engine/a_test.go", `import "os"`, ""},
		{"randomness in the engine", "engine/a.go", `import "math/rand/v2"`, "engine does without math/rand/v2"},
		{"a log in the engine", "engine/a.go", `import "log/slog"`, "engine does without log/slog"},
		{"a calendar in the engine", "engine/a.go", `import "time"; var _ = time.Unix(0, 0)`, ""},
		{"a clock in the engine", "engine/a.go", `import "time"; var _ = time.Now()`, "time.Now"},
		{"a clock in disguise", "engine/a.go", `import t "time"; var _ = t.Now()`, "another name"},
		{"a clock elsewhere", "server/a.go", `import "time"; var _ = time.Now()`, ""},
		{"a goroutine in the engine", "engine/a.go", `func f() { go f() }`, "no goroutine"},
		{"init", "server/a.go", `func init() {}`, "an init function"},
		{"a method called init", "server/a.go", `type t int; func (t) init() {}`, ""},
		{"a reminder", "server/a.go", "// TO" + "DO: more", "do it"},
		{"a long file", "server/a.go", strings.Repeat("\n", maxLines+1), "401 lines"},
		{"a file as long as may be", "server/a.go", strings.Repeat("\n", maxLines), ""},
		{"a test that is longer", "server/a_test.go", strings.Repeat("\n", maxLines+1), ""},
		{"no Go", "server/a.go", "func", "expected"},
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
