package lint_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// TestNewAlgorithm adds an algorithm to the sources that the compiler sees, as
// docs/internals.md says: a file, a number, a record, and a case of the model. The laws,
// the model, snapshots, replay, the log, parsing and COMMAND DOCS must then cover it.
func TestNewAlgorithm(t *testing.T) {
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
	for _, name := range []string{"engine/toy.go", "commands/toy_test.go", "persist/toy_test.go"} {
		replaced[at(name)] = at("internal/lint/testdata/toy/" + name)
	}
	edit("engine/algorithms.go", place{"\tlimits // number", "\tToy\n"}, place{"\tLease: {\n", read("internal/lint/testdata/toy/engine/record.txt")})
	edit("engine/model_test.go", place{"\tcase engine.Log:\n", "\tcase engine.Toy:\n\t\treturn &logModel{}\n"})
	list, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	overlay := write("overlay.json", list)
	for _, tests := range [][]string{
		{"./engine", "TestEachAlgorithm|TestLaws/TOY|TestModel$|TestSnapshot|TestReplay|TestApplyAllocatesNothing"},
		{"./persist", "TestToy"},
		{"./commands", "TestToy"},
	} {
		command := exec.Command("go", "test", "-vet=off", "-overlay="+overlay, "-run="+tests[1], "-v", tests[0])
		out, err := command.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "TestToy") && !strings.Contains(string(out), "TestLaws/TOY/a_debt_is_repaid") {
			t.Errorf("%v: %v\n%s", command, err, out)
		}
	}
}
