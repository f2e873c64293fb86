// Package lint_test checks the code against its architecture: the permitted imports
// of each package, the restrictions of the code that Apply reaches, the length of files, and the words
// of comments and docs.
package lint_test

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

// arrows lists the permitted imports of each package besides the standard library. A
// name includes the packages below it. A package that is not listed may import nothing.
//
//	cmd/limitsrv -> server/admin, server/rls -> server -> commands -> scripts -> datatypes, limiters -> engine <- persist <- replication -> certs -> files
//
// Below replication:
//
//	replication -> election, broadcast, forward -> link, storage -> fsm -> link, raftfix -> lease
//	replication/offline -> storage
//
// scripts imports lua as well. rules/ruletest -> checks -> ruleset -> rules -> rules/source -> limiters; commands imports all but
// the first. engine imports values, and both siphash; datatypes and limiters, with their commands, import engine
// and answer. values/numbers is for all of these.
//
// commands includes commands -> commands/session -> commands/auth -> commands/auth/users,
// commands/backend, commands/waiting and commands/tracking, which the first two import, and commands/resp, usage, word and glob,
// which import no other package of commands. cmd/limitsrv imports all of them; it passes
// the files of server/admin/page to server/admin. Of the packages below it, settings and
// state import options. persist/simtest, enginetest, rules/boundtest, tools/browser, testwait and redistest are for tests,
// tools/faultnet and freeport for tests and tools/bench.
var arrows = map[string][]string{
	".":                        {},
	"engine":                   {"limitsrv/engine/topk", "limitsrv/engine/values", "limitsrv/engine/siphash"},
	"engine/enginetest":        {"limitsrv/engine"},
	"engine/siphash":           {},
	"engine/topk":              {},
	"engine/answer":            {"limitsrv/engine/values/numbers"},
	"commands/datatypes":       {"limitsrv/engine", "limitsrv/engine/answer", "limitsrv/engine/values", "limitsrv/engine/values/numbers", "limitsrv/commands/glob"},
	"commands/limiters":        {"limitsrv/engine", "limitsrv/engine/answer", "limitsrv/commands/resp", "limitsrv/commands/usage", "limitsrv/commands/word"},
	"internal/pace":            {},
	"commands/rules/ruleset":   {"limitsrv/internal/pace", "limitsrv/commands/rules", "limitsrv/commands/rules/source", "limitsrv/engine", "limitsrv/engine/answer", "limitsrv/commands/resp", "limitsrv/commands/scripts"},
	"commands/rules/checks":    {"limitsrv/commands/rules/ruleset", "limitsrv/commands/rules", "limitsrv/commands/rules/source", "limitsrv/commands/limiters", "limitsrv/engine", "limitsrv/commands/resp"},
	"commands/rules":           {"limitsrv/internal/pace", "limitsrv/commands/rules/source", "limitsrv/commands/rules/slab", "limitsrv/engine", "limitsrv/commands/word"},
	"commands/rules/slab":      {},
	"commands/rules/source":    {"limitsrv/internal/pace", "limitsrv/commands/rules/slab", "limitsrv/engine", "limitsrv/commands/limiters", "limitsrv/commands/word", "limitsrv/internal/yamlfile", "go.yaml.in/yaml/v3"},
	"commands/rules/boundtest": {"limitsrv/commands/rules/source"},
	"commands/rules/ruletest":  {"limitsrv/commands/rules/checks", "limitsrv/commands/rules", "limitsrv/commands/rules/source", "limitsrv/engine"},
	"commands/scripts": {
		"limitsrv/commands/datatypes", "limitsrv/commands/limiters", "limitsrv/engine", "limitsrv/engine/answer", "limitsrv/engine/values/numbers", "limitsrv/commands/glob",
		"limitsrv/commands/scripts/lua", "limitsrv/commands/scripts/lua/bitops", "limitsrv/commands/scripts/lua/cjson", "limitsrv/commands/scripts/lua/cstruct", "limitsrv/commands/scripts/lua/library", "limitsrv/commands/scripts/lua/number", "limitsrv/commands/scripts/lua/syntax", "limitsrv/commands/scripts/lua/value",
	},
	"engine/values":         {"limitsrv/engine/values/numbers", "limitsrv/engine/siphash"},
	"engine/values/numbers": {},
	"commands": {
		"limitsrv/commands/rules/checks", "limitsrv/commands/rules/ruleset", "limitsrv/commands/rules", "limitsrv/commands/rules/source", "limitsrv/engine/answer",
		"limitsrv/engine", "limitsrv/commands/session", "limitsrv/commands/auth", "limitsrv/commands/backend", "limitsrv/commands/usage", "limitsrv/commands/resp",
		"limitsrv/commands/word", "limitsrv/commands/glob", "limitsrv/commands/waiting", "limitsrv/commands/datatypes", "limitsrv/commands/limiters", "limitsrv/commands/scripts", "limitsrv/internal/status", "limitsrv/internal/histogram",
	},
	"commands/session": {
		"limitsrv/commands/rules/checks", "limitsrv/commands/rules/ruleset", "limitsrv/commands/rules", "limitsrv/commands/rules/source",
		"limitsrv/engine", "limitsrv/engine/answer", "limitsrv/commands/auth", "limitsrv/commands/backend", "limitsrv/commands/usage", "limitsrv/commands/resp", "limitsrv/commands/word",
		"limitsrv/commands/glob", "limitsrv/commands/waiting", "limitsrv/commands/tracking", "limitsrv/internal/status", "limitsrv/internal/histogram", "limitsrv/internal/fatal", "limitsrv/internal/loglimit", "limitsrv/internal/pace",
	},
	"commands/waiting":    {"limitsrv/engine", "limitsrv/engine/answer"},
	"commands/tracking":   {"limitsrv/engine", "limitsrv/commands/resp"},
	"commands/backend":    {"limitsrv/engine", "limitsrv/internal/status", "limitsrv/commands/resp"},
	"commands/usage":      {},
	"commands/word":       {},
	"commands/resp":       {"limitsrv/engine/answer", "github.com/tidwall/redcon"},
	"commands/auth":       {"limitsrv/engine", "limitsrv/commands/resp", "limitsrv/commands/glob", "limitsrv/commands/auth/users"},
	"commands/auth/users": {"limitsrv/internal/beat", "limitsrv/internal/files", "limitsrv/internal/yamlfile", "golang.org/x/crypto", "go.yaml.in/yaml/v3"},
	"commands/glob":       {},
	"server":              {"limitsrv/internal/beat", "limitsrv/commands", "limitsrv/internal/fatal"},
	"internal/certs":      {"limitsrv/internal/files"},
	"internal/beat":       {},
	"internal/files":      {},
	"internal/yamlfile":   {"limitsrv/internal/pace", "go.yaml.in/yaml/v3"},
	"internal/fatal":      {},
	"internal/strictjson": {},
	"internal/status":     {},
	"internal/loglimit":   {},
	"internal/histogram":  {},
	"server/admin": {
		"limitsrv/commands/rules/ruleset", "limitsrv/commands/rules", "limitsrv/internal/strictjson",
		"limitsrv/engine", "limitsrv/internal/status", "limitsrv/internal/beat", "limitsrv/internal/histogram", "limitsrv/commands", "limitsrv/commands/limiters", "limitsrv/server", "github.com/prometheus/client_golang/prometheus",
	},
	"server/access": {"limitsrv/commands/auth", "limitsrv/commands/resp"},
	"server/rls": {
		"limitsrv/commands/auth", "limitsrv/commands/resp", "limitsrv/commands/session", "limitsrv/internal/beat", "limitsrv/engine", "limitsrv/commands/rules", "limitsrv/commands/rules/checks", "limitsrv/server",
		"limitsrv/server/rls/envoy", "google.golang.org/grpc",
	},
	"server/rls/envoy": {"limitsrv/internal/strictjson", "limitsrv/commands/rules/checks", "limitsrv/commands/rules", "limitsrv/engine", "limitsrv/commands/resp", "google.golang.org/protobuf/encoding/protowire"},
	"persist": {
		"limitsrv/engine", "limitsrv/internal/beat", "limitsrv/persist/commit", "limitsrv/internal/status", "limitsrv/internal/fatal", "limitsrv/internal/pace", "github.com/cockroachdb/pebble/v2", "github.com/hashicorp/raft-wal", "github.com/hashicorp/raft",
		"github.com/hashicorp/go-hclog",
	},
	"persist/commit":           {"limitsrv/engine"},
	"internal/testing/simtest": {"limitsrv/engine", "limitsrv/persist", "limitsrv/commands/datatypes", "limitsrv/commands/scripts", "limitsrv/commands/rules/ruleset", "limitsrv/commands/rules", "limitsrv/commands/rules/source", "limitsrv/engine/answer", "github.com/cockroachdb/pebble/v2/vfs", "github.com/anishathalye/porcupine"},
	"replication": {
		"limitsrv/replication/broadcast", "limitsrv/replication/election", "limitsrv/replication/forward", "limitsrv/replication/fsm", "limitsrv/replication/lease", "limitsrv/replication/link", "limitsrv/replication/raftfix", "limitsrv/replication/storage",
		"limitsrv/engine", "limitsrv/engine/answer", "limitsrv/persist", "limitsrv/internal/status", "limitsrv/internal/certs", "limitsrv/internal/histogram", "limitsrv/internal/loglimit", "github.com/hashicorp/raft", "github.com/hashicorp/go-hclog", "github.com/cockroachdb/pebble/v2/vfs",
	},
	"replication/offline": {
		"limitsrv/replication/fsm", "limitsrv/replication/link", "limitsrv/replication/raftfix", "limitsrv/replication/storage", "limitsrv/engine", "limitsrv/persist", "github.com/hashicorp/raft",
		"github.com/cockroachdb/pebble/v2/vfs",
	},
	"replication/storage": {
		"limitsrv/replication/fsm", "limitsrv/replication/link", "limitsrv/replication/raftfix", "limitsrv/persist", "limitsrv/internal/histogram", "github.com/hashicorp/raft", "github.com/hashicorp/raft-boltdb/v2",
		"github.com/hashicorp/go-hclog", "go.etcd.io/bbolt", "github.com/cockroachdb/pebble/v2/vfs",
	},
	"replication/fsm":       {"limitsrv/replication/link", "limitsrv/replication/raftfix", "limitsrv/engine", "limitsrv/persist", "github.com/hashicorp/raft"},
	"replication/broadcast": {"limitsrv/replication/link"},
	"replication/election":  {"github.com/hashicorp/raft"},
	"replication/link": {
		"limitsrv/persist", "limitsrv/internal/certs", "limitsrv/internal/files", "limitsrv/internal/loglimit", "github.com/hashicorp/raft",
	},
	"replication/link/linktest": {"limitsrv/internal/certs"},
	"replication/forward":       {"limitsrv/replication/link", "limitsrv/engine/answer", "limitsrv/engine", "limitsrv/persist"},
	"replication/lease":         {},
	"replication/raftfix":       {"limitsrv/replication/lease", "limitsrv/persist", "github.com/hashicorp/raft", "github.com/hashicorp/go-hclog"},
	"cmd/limitsrv": {
		"limitsrv/internal/beat", "limitsrv/commands/rules/ruleset",
		"limitsrv/cmd/limitsrv/options", "limitsrv/cmd/limitsrv/settings", "limitsrv/cmd/limitsrv/state", "limitsrv/cmd/limitsrv/completion",
		"limitsrv/commands", "limitsrv/commands/scripts", "limitsrv/server", "limitsrv/server/admin", "limitsrv/server/rls", "limitsrv/persist", "limitsrv/replication", "limitsrv/internal/certs",
		"limitsrv/commands/rules", "limitsrv/commands/rules/checks", "limitsrv/internal/files", "limitsrv/internal/pace", "github.com/alecthomas/kong", "github.com/coreos/go-systemd/v22/daemon", "golang.org/x/term",
	},
	"commands/scripts/lua":            {"limitsrv/commands/scripts/lua/arena", "limitsrv/commands/scripts/lua/number", "limitsrv/commands/scripts/lua/syntax", "limitsrv/commands/scripts/lua/value"},
	"commands/scripts/lua/arena":      {},
	"commands/scripts/lua/elementary": {},
	"commands/scripts/lua/number":     {"limitsrv/commands/scripts/lua/elementary"},
	"commands/scripts/lua/pattern":    {},
	"commands/scripts/lua/syntax":     {"limitsrv/commands/scripts/lua/number"},
	"commands/scripts/lua/value":      {"limitsrv/commands/scripts/lua/arena", "limitsrv/commands/scripts/lua/number"},
	"commands/scripts/lua/bitops":     {"limitsrv/commands/scripts/lua", "limitsrv/commands/scripts/lua/value"},
	"commands/scripts/lua/cjson":      {"limitsrv/commands/scripts/lua", "limitsrv/commands/scripts/lua/number", "limitsrv/commands/scripts/lua/value"},
	"commands/scripts/lua/cstruct":    {"limitsrv/commands/scripts/lua", "limitsrv/commands/scripts/lua/number", "limitsrv/commands/scripts/lua/value"},
	"commands/scripts/lua/library":    {"limitsrv/commands/scripts/lua", "limitsrv/commands/scripts/lua/elementary", "limitsrv/commands/scripts/lua/number", "limitsrv/commands/scripts/lua/pattern", "limitsrv/commands/scripts/lua/value"},
	"cmd/limitsrv/options": {
		"limitsrv/commands/rules/source", "limitsrv/commands/rules/ruleset",
		"limitsrv/commands", "limitsrv/server", "limitsrv/persist", "limitsrv/replication", "limitsrv/internal/certs", "limitsrv/internal/files",
		"limitsrv/internal/yamlfile", "github.com/alecthomas/kong", "go.yaml.in/yaml/v3",
	},
	"cmd/limitsrv/settings": {"limitsrv/cmd/limitsrv/options", "limitsrv/commands", "limitsrv/internal/files"},
	"cmd/limitsrv/state": {
		"limitsrv/commands/rules/ruleset",
		"limitsrv/cmd/limitsrv/options", "limitsrv/engine", "limitsrv/commands", "limitsrv/commands/scripts", "limitsrv/persist", "limitsrv/replication", "limitsrv/internal/certs", "limitsrv/internal/beat",
	},
	"cmd/limitsrv/completion":    {},
	"server/admin/page":          {},
	"internal/testing/browser":   {"limitsrv/internal/testing/testwait", "github.com/chromedp/chromedp", "github.com/chromedp/cdproto"},
	"internal/testing/faultnet":  {},
	"internal/testing/testwait":  {},
	"internal/testing/freeport":  {},
	"internal/testing/redistest": {"limitsrv/internal/testing/freeport", "limitsrv/internal/testing/testwait"},
	"tools/bench":                {"limitsrv/internal/testing/faultnet", "limitsrv/internal/testing/freeport", "github.com/google/pprof/profile", "golang.org/x/sync/errgroup"},
}

// testArrows lists further imports that every test may have. A test may also import our
// packages that its package imports indirectly.
var testArrows = []string{
	"github.com/cockroachdb/datadriven", "pgregory.net/rapid", "github.com/anishathalye/porcupine", "limitsrv/internal/testing/faultnet", "limitsrv/internal/testing/browser", "limitsrv/internal/testing/testwait", "limitsrv/internal/testing/freeport", "limitsrv/internal/testing/redistest",
	"limitsrv/replication/offline", "limitsrv/internal/testing/simtest", "limitsrv/commands/rules/boundtest", "limitsrv/engine/enginetest",
	"github.com/chromedp/chromedp", "github.com/envoyproxy/go-control-plane/envoy", "google.golang.org/grpc", "google.golang.org/protobuf",
}

// foreignFolders have packages that may import any module except ours.
var foreignFolders = []string{"clients-test", "deploy/check"}

const (
	maxLines     = 400
	maxTestLines = 600
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

// walkSources calls do for each file with one of the suffixes, except in test data and
// hidden folders. name is relative to the root, with slashes.
func walkSources(do func(name string, source []byte) error, suffixes ...string) error {
	return filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if base := entry.Name(); name != "." && (base[0] == '.' || base == "testdata" || base == "node_modules") {
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

// complaints returns the violations in one file. name is relative to the root.
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
	return all
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
		case isTest && among(imported, slices.Concat(reach(dir), testArrows)):
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
		{"an arrow", "server/a.go", `import "limitsrv/commands"`, ""},
		{"an arrow of another module", "persist/a.go", `import "github.com/cockroachdb/pebble/v2/vfs"`, ""},
		{"a name that only starts alike", "persist/a.go", `import "github.com/cockroachdb/pebble/v20"`, "may not import"},
		{"a package below its arrow", "server/a.go", `import "limitsrv/commands/resp"`, ""},
		{"an arrow from below", "commands/resp/a.go", `import "limitsrv/commands"`, "commands/resp may not import limitsrv/commands"},
		{"an arrow that skips one", "server/a.go", `import "limitsrv/engine"`, "server may not import limitsrv/engine"},
		{"the same in a test", "server/a_test.go", `import "limitsrv/engine"`, ""},
		{"an arrow upwards", "engine/a.go", `import "limitsrv/commands"`, "engine may not import limitsrv/commands"},
		{"an arrow upwards in a test", "engine/a_test.go", `import "limitsrv/commands"`, "engine may not import"},
		{"itself in a test", "engine/a_test.go", `import "limitsrv/engine"`, ""},
		{"a test library", "engine/a_test.go", `import "pgregory.net/rapid"`, ""},
		{"a test library outside a test", "engine/a.go", `import "pgregory.net/rapid"`, "engine may not import"},
		{"a package for tests", "engine/a_test.go", `import "limitsrv/internal/testing/testwait"`, ""},
		{"a package for tests outside a test", "server/a.go", `import "limitsrv/internal/testing/testwait"`, "server may not import"},
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
