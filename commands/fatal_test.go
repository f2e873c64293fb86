package commands

import (
	"context"
	"os"
	children "os/exec"
	"strings"
	"testing"

	"limitsrv/commands/session"
	"limitsrv/engine"
)

// plantedExec panics at any batch.
type plantedExec struct{}

func (plantedExec) Commit() {}

func (plantedExec) Exec(*engine.Batch, func(error)) { panic("planted") }

// decideChild is the environment variable that makes the test binary the child below.
const decideChild = "LIMITSRV_TEST_DECIDE"

// A panic in a batch ends the process even in a listener of another protocol, such as
// net/http, which recovers panics of its handlers.
func TestPanicOfDecideEndsTheProcess(t *testing.T) {
	if os.Getenv(decideChild) != "" {
		defer func() { _ = recover(); os.Exit(77) }()
		h := newTestHandler("")
		h.Executor().Exec = plantedExec{}
		_, _ = h.Decide(context.Background(), session.Call{Args: words("RL.PEEK a")})
		return
	}
	child := children.Command(os.Args[0], "-test.run=^TestPanicOfDecideEndsTheProcess$")
	child.Env = append(os.Environ(), decideChild+"=1")
	out, err := child.CombinedOutput()
	if code := child.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), "plantedExec.Exec") {
		t.Errorf("ended with %d, %v, and said\n%s\nwant 2 and the stack", code, err, out)
	}
}
