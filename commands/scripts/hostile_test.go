package scripts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// hostileFiles returns the endless scripts that tools/bench sends.
func hostileFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../tools/bench/scripts/hostile/*.lua")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d scripts, want at least 10 (%v)", len(files), err)
	}
	return files
}

// TestHostileScriptsEnd: each endless script ends at its budget of steps, light or full, or before at the
// bound of memory or of nested calls; it counts no more steps than that, and as heavy the steps beyond the
// light steps, or all steps of a run that ends at a low budget. Another call in between, and in the same
// batch, is answered.
func TestHostileScriptsEnd(t *testing.T) {
	for _, file := range hostileFiles(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, atomic := range []bool{false, true} {
			for _, budget := range []int64{100, LightSteps, 50 * LightSteps} {
				name := fmt.Sprintf("%s, %d steps, MULTI %v", filepath.Base(file), budget, atomic)
				n := newNode()
				n.batch.Reset()
				n.batch.Atomic = atomic
				const runs = 3
				for range runs {
					n.add(0, budget, string(text), "0")
				}
				n.add(0, LightSteps, "return 'others'", "0")
				n.e.Apply(n.now, &n.batch)
				ended := int64(0) // runs that ended at their budgets
				for i, c := range n.batch.Calls[:runs] {
					got := respOf(&c)
					if strings.HasPrefix(got, fmt.Sprintf("-ERR script takes more than %d steps (--script-steps)", budget)) {
						ended++
					} else if !strings.HasPrefix(got, "-ERR script takes more than 67108864 bytes") &&
						!strings.HasPrefix(got, "-ERR user_script:1: stack overflow") {
						t.Errorf("%s: run %d answers %.120s", name, i, got)
					}
				}
				if got := respOf(&n.batch.Calls[runs]); got != "$6|others|" {
					t.Errorf("%s: another script answers %s", name, got)
				}
				beyond := max(0, budget-LightSteps)
				least, most := ended*beyond, runs*beyond
				if beyond == 0 {
					least, most = ended*budget, ended*budget
				}
				if heavy := n.e.HeavySteps(); heavy < least || heavy > most {
					t.Errorf("%s: %d heavy steps, want %d to %d", name, heavy, least, most)
				}
				if steps := n.e.Stats().Steps; steps > runs*budget+LightSteps {
					t.Errorf("%s: %d steps, want at most %d", name, steps, runs*budget)
				}
			}
		}
	}
}

// TestErrorAtTheLimit: an error that is raised when a script has spent its steps but a few, or its
// memory, is answered all the same: its text takes memory outside of the run.
func TestErrorAtTheLimit(t *testing.T) {
	n := newNode()
	for budget := range int64(400) {
		for _, text := range []string{
			"error({err = 55})",
			"local t = {} for i = 1, 20 do t['k' .. i] = i end return t",
			"return {1, {2, {3, ('x'):rep(500)}}}",
		} {
			got := n.runAs(0, budget, text, "1", "key", "an argument")
			if !strings.HasPrefix(got, fmt.Sprintf("-ERR script takes more than %d steps", budget)) &&
				!strings.HasPrefix(got, "-55") && got[0] != '*' {
				t.Errorf("%s, %d steps: %s", text, budget, got)
			}
		}
	}
	const fill = "local s = ('x'):rep(1000) while gcinfo() < 65534 do s = ('x'):rep(900) end "
	if got := n.runAs(0, 10*DefaultSteps, fill+"local n = 0 while gcinfo() < 65535 do n = n + 1 local t = {} end "+
		"error({err = 1.5})", "0"); !strings.HasPrefix(got, "-1.5") {
		t.Errorf("an error beside the bound of memory answers %s", got)
	}
}

// respOf returns the answer of a call in RESP2.
func respOf(c *engine.Call) string {
	return strings.ReplaceAll(string(answer.AppendTo(nil, c.Answer, answer.RESP2)), "\r\n", "|")
}
