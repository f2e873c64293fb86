package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestConfigGolden runs limitsrv config on the files of testdata/config.txt.
//
//	check|show [env=(NAME,VALUE)] [args=(...)] [mode=0644] [only=(NAME,...)]
//	the file
//	----
//	the output, for the options of only, and the exit code
func TestConfigGolden(t *testing.T) {
	script, err := filepath.Abs("testdata/config.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	datadriven.RunTest(t, script, func(t *testing.T, d *datadriven.TestData) string {
		mode, only := os.FileMode(0o600), regexp.MustCompile("")
		args := []string{d.Cmd, "limitsrv.yaml"}
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "env":
				t.Setenv(a.Vals[0], a.Vals[1])
				defer os.Unsetenv(a.Vals[0])
			case "args":
				args = append(args, a.Vals...)
			case "mode":
				mode = 0o644
			case "only":
				only = regexp.MustCompile("^(" + strings.Join(a.Vals, "|") + ") ")
			default:
				t.Fatalf("%s: no argument %s", d.Pos, a.Key)
			}
		}
		if err := os.WriteFile("limitsrv.yaml", []byte(d.Input), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod("limitsrv.yaml", mode); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		code := runConfig(call{args: args, stdout: &out, stderr: &out})
		var output strings.Builder
		for line := range strings.Lines(out.String()) {
			if only.MatchString(line) {
				output.WriteString(line)
			}
		}
		return fmt.Sprintf("%sexit %d\n", output.String(), code)
	})
}
