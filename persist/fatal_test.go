package persist

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// panicChild is the environment variable that makes the test binary the child process.
const panicChild = "LIMITSRV_TEST_SOURCE_PANIC"

// panickingSource panics at its third block, like an engine that holds a lock.
func panickingSource(state *fakeState) BlockSource {
	return &hookSource{state.source(), 2, func([]byte, uint64) uint64 { panic("of the source") }}
}

// A panic of the engine while a snapshot is written ends the process; a panic of Pebble
// is an error.
func TestPanicOfTheSourceEndsTheProcess(t *testing.T) {
	if os.Getenv(panicChild) != "" {
		s := openTest(t, vfs.NewMem(), "/snapshots")
		_, _ = s.Write(context.Background(), panickingSource(newState(1, 2000, 0)), metaOf(1), nil)
		os.Exit(77)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestPanicOfTheSourceEndsTheProcess$")
	child.Env = append(os.Environ(), panicChild+"=1")
	out, err := child.CombinedOutput()
	if code := child.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), "panickingSource") {
		t.Errorf("exit status %d, %v, output\n%s\nwant 2 and the stack", code, err, out)
	}
}
