package session

import (
	"context"
	"time"

	"limitsrv/commands/resp"
)

// lastWait bounds the wait for the answer to a change after the end of its context.
const lastWait = 3 * time.Second

var (
	// ErrUncertain is the error of a change without an answer.
	ErrUncertain = resp.NewError("UNCERTAIN", "no answer has arrived: the command may or may not have been applied")

	errDraining = resp.NewError("TRYAGAIN", "the server is shutting down, and nothing was changed")
)

// await returns the error that done receives when the Exec has answered a batch. If ctx ends first,
// the error of a look is the cause of that end. A change waits on for at most lastWait, and then its
// error is ErrUncertain. The Exec still owns the batch after ErrUncertain and after the cause.
func await(ctx context.Context, looks bool, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	if looks {
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-time.After(lastWait):
		return ErrUncertain
	}
}
