package options

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

const sampleConfig = "../../../deploy/limitsrv.yaml"

const sampleHead = `# Options of limitsrv, each with its default. The command line and the environment take
# precedence over this file. limitsrv config check reports mistakes in it, and
# systemctl reload limitsrv (SIGHUP) reloads it.
`

// rewrite is the flag of datadriven: write the expected texts anew.
var rewrite = flag.Lookup("rewrite")

// lineWidth is the maximum number of characters in a line of a comment, except for a
// longer word.
const lineWidth = 80

// comment formats text as lines of a comment.
func comment(text string) string {
	var b strings.Builder
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > lineWidth {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

// sampleText returns the sample configuration file.
func sampleText(flags []*kong.Flag) string {
	var b strings.Builder
	b.WriteString(sampleHead)
	group := ""
	for _, f := range flags {
		if f.Name == "config" {
			continue
		}
		if f.Group != nil && f.Group.Key != group {
			group = f.Group.Key
			fmt.Fprintf(&b, "\n# --- %s ---\n", group)
		}
		value := f.Default
		switch {
		case value != "":
		case f.IsSlice():
			value = "[]"
		case f.IsBool():
			value = "false"
		default:
			value = `""`
		}
		fmt.Fprintf(&b, "\n%s#%s: %s\n", comment(f.Help), f.Name, value)
	}
	return b.String()
}

// TestSampleConfig compares the sample with the options. With -rewrite it writes the
// sample.
func TestSampleConfig(t *testing.T) {
	want := sampleText(configFlags(t))
	got, err := os.ReadFile(sampleConfig)
	if err == nil && string(got) == want {
		return
	}
	if rewrite.Value.String() != "true" {
		t.Fatalf("%s differs from the options (%v): go test ./cmd/limitsrv/options -run Sample -rewrite", sampleConfig, err)
	}
	if err := os.WriteFile(sampleConfig, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The commented-out values of the sample are the defaults.
func TestSampleConfigIsTheDefaults(t *testing.T) {
	text, err := os.ReadFile(sampleConfig)
	if err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for line := range strings.Lines(string(text)) {
		if option := strings.TrimPrefix(line, "#"); !strings.HasPrefix(option, " ") {
			line = option
		}
		lines.WriteString(line)
	}
	file := filepath.Join(t.TempDir(), "limitsrv.yaml")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LIMITSRV_CONFIG", file)
	c, err := Parse(nil, os.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.entries) != len(c.flags)-1 {
		t.Errorf("the sample has %d options, want all %d but --config", len(c.entries), len(c.flags)-1)
	}
	t.Setenv("LIMITSRV_CONFIG", "")
	none, err := Parse(nil, os.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range c.List() {
		if want := none.List()[i]; o.Name != "config" && o.Value != want.Value {
			t.Errorf("%s is %q in the sample, %q by default", o.Name, o.Value, want.Value)
		}
	}
}
