package lint_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// toyCommand lists the files of a new command, as the first list of docs/internals.md on it.
var toyCommand = []string{"commands/datatypes/toy.go", "commands/datatypes/table_strings.go",
	"commands/testdata/toy.txt"}

// TestNewCommandIsDocumented: docs/internals.md lists the files of toyCommand, and no other.
func TestNewCommandIsDocumented(t *testing.T) {
	text, err := os.ReadFile("docs/internals.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## To add a command\n")
	var files []string
	for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `([^`]+)`").FindAllStringSubmatch(section, -1) {
		files = append(files, strings.NewReplacer("NAME", "toy", "FAMILY", "strings").Replace(m[1]))
	}
	if !slices.Equal(files, toyCommand) {
		t.Errorf("docs/internals.md lists %q, want %q", files, toyCommand)
	}
}

// TestToys adds an algorithm and a command to the sources that the compiler sees, as
// docs/internals.md says. An algorithm is a file, a number, a record, and a case of the model. The
// laws, the model, snapshots, replay, the log, parsing and COMMAND DOCS must then cover it. A command
// has the files of toyCommand. The tests of all commands, clients, scripts, rights and simulations
// must then cover it; its script runs from the folder of the toy.
func TestToys(t *testing.T) {
	testwait.Long(t)
	replaced := map[string]string{}
	at := func(name string) string {
		full, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		return full
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	write := func(name string, text []byte) string {
		file := filepath.Join(t.TempDir(), filepath.Base(name))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	// edit inserts added before the only place of each text.
	edit := func(name string, places ...struct{ before, added string }) {
		text := read(name)
		for _, p := range places {
			if n := strings.Count(text, p.before); n != 1 {
				t.Fatalf("%s contains %q %d times, want once", name, p.before, n)
			}
			text = strings.Replace(text, p.before, p.added+p.before, 1)
		}
		replaced[at(name)] = write(name, []byte(text))
	}
	type place = struct{ before, added string }
	for _, name := range []string{"engine/toy.go", "commands/toy_test.go", "persist/toy_test.go",
		"commands/toycommand_test.go", toyCommand[0]} {
		replaced[at(name)] = at("internal/lint/testdata/toy/" + name)
	}
	edit("engine/algorithms.go", place{"\tlimits // number", "\tToy\n"},
		place{"\tLease: {\n", read("internal/lint/testdata/toy/engine/record.txt")})
	edit("engine/model_test.go", place{"\tcase engine.Log:\n", "\tcase engine.Toy:\n\t\treturn &logModel{}\n"})
	edit(toyCommand[1], place{"\t37: {Name: \"INCREX\"", read("internal/lint/testdata/toy/commands/datatypes/line.txt")})
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	overlay := write("overlay.json", list)
	for _, tests := range [][]string{
		{"./engine", "TestEachAlgorithm|TestLaws/TOY|TestModel$|TestSnapshot|TestReplay|TestApplyAllocatesNothing"},
		{"./persist", "TestToy"},
		{"./commands", "TestToy|TestTableIsComplete|TestRightsSeeEveryKey|TestBadInput|TestGroupsAreCategories"},
		{"./commands/datatypes", "TestTable|TestAnswersAreCharged|TestWork|TestLaws"},
		{"./commands/scripts", "TestReplaces"},
		{"./internal/testing/simtest", "TestEverything"},
	} {
		command := exec.Command("go", "test", "-vet=off", "-overlay="+overlay, "-run="+tests[1], "-v", tests[0])
		out, err := command.CombinedOutput()
		if err != nil || strings.Contains(string(out), "no tests to run") || tests[0] == "./engine" &&
			!strings.Contains(string(out), "TestLaws/TOY/a_debt_is_repaid") {
			t.Errorf("%v: %v\n%s", command, err, out)
		}
	}
}
