package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"limitsrv/engine/enginetest"
)

// TestRulesGolden runs limitsrv rules with the commands of testdata/rules.txt, in a
// directory with the files that they write.
//
//	file NAME        writes the input
//	run ARGUMENTS    the output, and the exit code
func TestRulesGolden(t *testing.T) {
	script, err := filepath.Abs("testdata/rules.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	datadriven.RunTest(t, script, func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "file":
			name := d.CmdArgs[0].Key
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(d.Input), 0o600); err != nil {
				t.Fatal(err)
			}
			return ""
		case "run":
			var out bytes.Buffer
			code := runRules(call{args: strings.Fields(d.Input), stdout: &out, stderr: &out})
			return fmt.Sprintf("%sexit %d\n", enginetest.HideAlgorithms(out.String()), code)
		}
		t.Fatalf("%s: no command %s", d.Pos, d.Cmd)
		return ""
	})
}
