package scripts

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// TestSameWithoutFMA runs TestSameOnAllProcessors in a process that uses no fused operations of
// the processor.
func TestSameWithoutFMA(t *testing.T) {
	command := exec.Command(os.Args[0], "-test.run", "^TestSameOnAllProcessors$", "-test.v")
	command.Env = append(os.Environ(), "GODEBUG=cpu.fma=off")
	output, err := command.CombinedOutput()
	if err != nil || !bytes.Contains(output, []byte("--- PASS: TestSameOnAllProcessors")) {
		t.Errorf("%v\n%s", err, output)
	}
}
