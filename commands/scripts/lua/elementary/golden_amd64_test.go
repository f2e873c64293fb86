package elementary

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestGoldenWithoutFMA runs TestGolden in a process that uses no fused operations of the
// processor.
func TestGoldenWithoutFMA(t *testing.T) {
	command := exec.Command(os.Args[0], "-test.run", "^TestGolden$", "-test.v")
	command.Env = append(os.Environ(), "GODEBUG=cpu.fma=off")
	output, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(output), "--- PASS: TestGolden") {
		t.Errorf("%v\n%s", err, output)
	}
}
