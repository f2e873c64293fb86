package commands

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/calls"
	"limitsrv/commands/scripts"
	"limitsrv/engine"
)

// TestCompilingIsHeavy: each command that compiles a text counts it as heavy before it does, and a
// long text is refused while scripts are heavy, by the node of a client and by a leader.
func TestCompilingIsHeavy(t *testing.T) {
	long := strings.Repeat("-", 10*scripts.LightSteps)
	text := func(i int) []byte { return fmt.Appendf(nil, "return %d --%s", i, long) }
	for name, op := range map[string]func(h *scriptHost, b *engine.Batch, i int) error{
		"EVAL": func(h *scriptHost, b *engine.Batch, i int) error {
			return h.opEval(0)(b, [][]byte{nil, text(i), []byte("0")})
		},
		"SCRIPT LOAD": func(h *scriptHost, b *engine.Batch, i int) error {
			return h.opScriptLoad(b, [][]byte{nil, nil, text(i)})
		},
		"FUNCTION LOAD": func(h *scriptHost, b *engine.Batch, i int) error {
			return h.opFunctionLoad(b, [][]byte{nil, nil, text(i)})
		},
		"the rights of EVAL": func(h *scriptHost, _ *engine.Batch, i int) error {
			_, err := h.usesOfText([][]byte{nil, text(i), []byte("0")})
			return err
		},
	} {
		e := engine.New(engine.Options{Commands: calls.Commands})
		h := &scriptHost{engine: func() *engine.Engine { return e },
			budget: newScriptBudget(scripts.DefaultSteps, backend.NewTestClock(testStart))}
		refused := 0
		for i := range 2 * scripts.DefaultSteps / int(scripts.CompileSteps(len(long))) {
			var b engine.Batch
			if err := op(h, &b, i); err != nil {
				refused++
			}
		}
		if heavy, most := e.HeavySteps(),
			int64(scripts.DefaultSteps)+scripts.CompileSteps(len(long)); refused == 0 || heavy > most {
			t.Errorf("%s: %d texts are refused, and %d steps are heavy, want at most %d", name, refused, heavy, most)
		}
		if err := h.mayCompile(scripts.LightSteps); err != nil {
			t.Errorf("%s: a short text is refused: %v", name, err)
		}
	}
}
