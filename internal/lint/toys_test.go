package lint_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// Files of a new command and of a new algorithm, as the lists of docs/internals.md name them.
var (
	toyCommand = []string{"commands/datatypes/toy.go", "commands/datatypes/table_strings.go",
		"commands/testdata/toy.txt"}
	toyAlgorithm = []string{"engine/toy.go", "engine/algorithms.go", "engine/model_toy_test.go", "engine/model_test.go",
		"commands/testdata/rl.toy.txt", "docs/algorithms.md", "docs/rules.md", "docs/charts/toy.svg", "docs/commands.md"}
	// toyWritten are the files that the commands of -rewrite write for a new command.
	toyWritten = []string{"commands/calls/testdata/numbers.txt", "docs/commands.md"}
)

// TestListsOfFiles: docs/internals.md lists the files of toyCommand and toyAlgorithm, and no other.
func TestListsOfFiles(t *testing.T) {
	text, err := os.ReadFile("docs/internals.md")
	if err != nil {
		t.Fatal(err)
	}
	for title, want := range map[string][]string{"a command": toyCommand, "an algorithm": toyAlgorithm} {
		_, section, _ := strings.Cut(string(text), "\n## To add "+title+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		var files []string
		for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `([^`]+)`").FindAllStringSubmatch(section, -1) {
			files = append(files, strings.NewReplacer("NAME", "toy", "FAMILY", "strings").Replace(m[1]))
		}
		if !slices.Equal(files, want) {
			t.Errorf("to add %s, docs/internals.md lists %q, want %q", title, files, want)
		}
	}
}

// A toyTree is a copy of the source, to which an algorithm and a command are added.
type toyTree struct {
	*testing.T
	dir string
}

// copyTree copies the source, except for the libraries and programs of clients.
func copyTree(t *testing.T) toyTree {
	tree := toyTree{t, t.TempDir()}
	for _, name := range []string{"go.mod", "go.sum", "README.md", "CHANGELOG.md"} {
		tree.write(name, tree.read(".", name))
	}
	for _, folder := range []string{"cmd", "commands", "deploy", "docs", "engine", "internal", "persist", "replication",
		"server", "tools"} {
		if err := os.CopyFS(filepath.Join(tree.dir, folder), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func (tree toyTree) read(root, name string) string {
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		tree.Fatal(err)
	}
	return string(text)
}

func (tree toyTree) write(name, text string) {
	if err := os.WriteFile(filepath.Join(tree.dir, name), []byte(text), 0o600); err != nil {
		tree.Fatal(err)
	}
}

// toy returns the contents of a file of the toys.
func (tree toyTree) toy(name string) string { return tree.read("internal/lint/testdata/toy", name) }

// insert inserts added in front of a text that the file has exactly once.
func (tree toyTree) insert(name, added, before string) {
	text := tree.read(tree.dir, name)
	if n := strings.Count(text, before); n != 1 {
		tree.Fatalf("%s contains %q %d times, want once", name, before, n)
	}
	tree.write(name, strings.Replace(text, before, added+before, 1))
}

// changed returns the files that differ from the source, or that the source does not have.
func (tree toyTree) changed() (names []string) {
	root := os.DirFS(tree.dir)
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		now, err := fs.ReadFile(root, name)
		if before, wrong := os.ReadFile(name); wrong != nil || !bytes.Equal(now, before) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		tree.Fatal(err)
	}
	return names
}

// test runs tests of a package in the tree, and returns their output.
func (tree toyTree) test(pkg, tests string, flags ...string) string {
	args := append([]string{"test", "-vet=off", "-pgo=off", "-trimpath", "-run=" + tests, pkg}, flags...)
	command := exec.Command("go", args...)
	command.Dir = tree.dir
	out, err := command.CombinedOutput()
	if err != nil || strings.Contains(string(out), "no tests to run") {
		tree.Errorf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}

// TestToys adds an algorithm and a command to a copy of the source by the lists of docs/internals.md.
// The tests must then cover both, and pass: a test that fails needs another file. The files of the
// toys that end in _test.go are no part of the lists; they check that both are known everywhere.
func TestToys(t *testing.T) {
	testwait.Long(t)
	tree := copyTree(t)
	for _, name := range []string{toyCommand[0], toyCommand[2], toyAlgorithm[0], toyAlgorithm[2],
		toyAlgorithm[4]} {
		tree.write(name, tree.toy(name))
	}
	tree.insert(toyCommand[1], tree.toy("commands/datatypes/line.txt"), "\t37: {Name: \"INCREX\"")
	tree.insert("engine/algorithms.go", "\tToy\n", "\tlimits // number")
	tree.insert("engine/algorithms.go", tree.toy("engine/record.txt"), "\tLease: {\n")
	tree.insert("engine/model_test.go", "\tengine.Toy: {func() modelState { return &toyLog{} }, oneByOne},\n",
		"}\n\n// An earning")
	tree.insert("docs/algorithms.md", tree.toy("docs/section.txt"), "## How far off\n")
	tree.insert("docs/rules.md", "|toy", "] [burst N] [name N]")
	tree.test("./engine", "TestCharts", "-rewrite")
	tree.test("./commands/calls", "TestNumbers", "-rewrite")
	tree.test("./cmd/limitsrv", "TestCommandsDoc", "-rewrite")
	want := slices.Concat(toyCommand, toyAlgorithm, toyWritten)
	slices.Sort(want)
	if got := tree.changed(); !slices.Equal(got, slices.Compact(want)) {
		t.Errorf("the toys changed %q, want %q", got, want)
	}
	for _, name := range []string{"commands/toy_test.go", "commands/rules/source/toy_test.go", "persist/toy_test.go"} {
		tree.write(name, tree.toy(name))
	}
	out := tree.test("./engine", "TestEachAlgorithm|TestLaws/TOY|TestModel$|TestSnapshot|TestReplay|TestApplyAllocates"+
		"Nothing|TestCharts|TestChanges", "-v")
	if !strings.Contains(out, "TestLaws/TOY/a_debt_is_repaid") {
		t.Errorf("the laws do not cover the toy:\n%s", out)
	}
	for _, tests := range [][2]string{
		{"./persist", "TestToy|TestAlgorithmNumbers"},
		{"./commands", "TestToy|TestScripts|TestEachCommandHasAScript|TestTableIsComplete|TestRightsSeeEveryKey|" +
			"TestBadInput|TestGroupsAreCategories|TestRequestsAreCounted|TestAdvice"},
		{"./commands/calls", "TestNumbers"},
		{"./commands/datatypes", "TestTable|TestAnswersAreCharged|TestWork|TestLaws"},
		{"./commands/rules", "TestGolden"},
		{"./commands/rules/source", "TestToy|TestFormOfLimits"},
		{"./commands/scripts", "TestReplaces|TestSizesAgree"},
		{"./internal/testing/simtest", "TestEverything"},
		{"./server/admin/page", "TestFormsOfLimits"},
		{"./cmd/limitsrv", "TestCommandsDoc|TestRulesGolden"},
	} {
		tree.test(tests[0], tests[1])
	}
}
