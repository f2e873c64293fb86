package calls

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"limitsrv/commands/scripts"
	"limitsrv/engine"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/numbers.txt; only new numbers may differ")

// TestNumbers compares the calls with the numbers that logs of released versions have. Each call has a
// name for people, and each run its script.
func TestNumbers(t *testing.T) {
	const file = "testdata/numbers.txt"
	args := [][]byte{scripts.Steps(1), []byte("script"), []byte("0"), []byte("3"), []byte("4"), []byte("5")}
	var list strings.Builder
	for number := range 1 << 16 {
		for n := range len(args) + 1 {
			c := engine.Call{Command: uint16(number), Args: args[:n]}
			err := Commands.Check(&c)
			known := err == nil || !strings.HasPrefix(err.Error(), "unknown command")
			if !known || err != nil && n < len(args) {
				continue
			}
			name, script := Commands.Describe(&c)
			if _, _, run := scripts.RunOf(&c); name == "" || (script != nil) != run || run && string(script) != "script" {
				t.Errorf("call %d with %d arguments is %q and runs %q", number, n, name, script)
			}
			fmt.Fprint(&list, number, " ", name)
			for _, is := range []struct {
				set  bool
				word string
			}{{c.ReadOnly, " read-only"}, {c.Timed, " timed"}, {c.Draws, " draws"}} {
				if is.set {
					list.WriteString(is.word)
				}
			}
			list.WriteByte('\n')
			break
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(list.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, old := strings.Split(list.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(old)) {
		if i >= len(got) || i >= len(old) || got[i] != old[i] {
			t.Fatalf("line %d of %s, which logs rely on, is %q, and the calls have %q; a new number needs -rewrite",
				i+1, file, old[min(i, len(old)-1)], got[min(i, len(got)-1)])
		}
	}
}
