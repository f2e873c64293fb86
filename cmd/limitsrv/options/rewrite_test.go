package options

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestConfigRewriteGolden sets options in the files of testdata/rewrite.txt.
//
//	put NAME=VALUE...
//	the file
//	----
//	the resulting file, or the error
func TestConfigRewriteGolden(t *testing.T) {
	script, err := filepath.Abs("testdata/rewrite.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	datadriven.RunTest(t, script, func(t *testing.T, d *datadriven.TestData) string {
		text := strings.ReplaceAll(d.Input, "~", " ") + "\n"
		if err := os.WriteFile("limitsrv.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Parse([]string{"--config", "limitsrv.yaml"}, io.Discard)
		if err != nil {
			t.Fatalf("%s: %v", d.Pos, err)
		}
		set := map[string]string{}
		for _, a := range d.CmdArgs {
			set[a.Key] = a.Vals[0]
		}
		got, err := putOptions(text, set, c)
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
		return got
	})
}
