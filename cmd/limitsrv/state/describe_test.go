package state

import (
	"strings"
	"testing"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/scripts"
	"limitsrv/engine"
)

// Each call that an entry of the log may have has a name for people, and each run its script.
func TestEachCallHasAName(t *testing.T) {
	args := [][]byte{scripts.Steps(1), []byte("script"), []byte("0"), []byte("3"), []byte("4"), []byte("5")}
	named := 0
	for command := range 1 << 16 {
		known := false
		for n := range len(args) + 1 {
			c := engine.Call{Command: uint16(command), Args: args[:n]}
			err := Commands.Check(&c)
			known = known || err == nil || !strings.HasPrefix(err.Error(), "unknown command")
			if !known || err != nil && n < len(args) {
				continue
			}
			name, script := Commands.Describe(&c)
			if _, _, run := scripts.RunOf(&c); name == "" || (script != nil) != run || run && string(script) != "script" {
				t.Errorf("command %d with %d arguments is %q and runs %q", command, n, name, script)
			}
			named++
			break
		}
	}
	if least := len(datatypes.All()) / 2; named < least {
		t.Errorf("only %d calls are known, want %d", named, least)
	}
}
