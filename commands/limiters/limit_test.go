package limiters

import (
	"strings"
	"testing"

	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// words splits a line at spaces, and drops quotes.
func words(line string) [][]byte {
	var args [][]byte
	for _, w := range strings.Fields(line) {
		args = append(args, []byte(strings.Trim(w, `"`)))
	}
	return args
}

// opOf returns the Parse of a line's command.
func opOf(t testing.TB, line string) func(*engine.Batch, [][]byte) error {
	t.Helper()
	name, _, _ := strings.Cut(line, " ")
	for _, c := range All() {
		if c.Name == name {
			return c.Body.(*spec.Ops).Parse
		}
	}
	t.Fatalf("no command %s", name)
	return nil
}

func BenchmarkParse(b *testing.B) {
	for _, line := range []string{
		"RL.TOKEN key 100 10/s", "RL.TOKEN key 100 100/m", "RL.TOKEN key 100 7/3d 2", "RL.TOKEN key 100 33.333333333333336",
		"RL.ALL TOKEN a 100 10/s 1 FIXED b 100 day 1", "RL.FIXED key 100 day", "RL.SLIDE key 100 60",
		"RL.ACQUIRE key 10 30s holder", "CL.THROTTLE key 15 30 60 1",
		"GCRA key 15 30 60 TOKENS 2",
	} {
		b.Run(line, func(b *testing.B) {
			batch := &engine.Batch{Ops: make([]engine.Op, 0, 8)}
			args, op := words(line), opOf(b, line)
			b.ReportAllocs()
			for b.Loop() {
				batch.Reset()
				if err := op(batch, args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
