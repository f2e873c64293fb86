package session

import (
	"context"
	"time"

	"limitsrv/commands/resp"
)

// lastWait bounds the wait for the answer to a change after its context has ended.
const lastWait = 3 * time.Second

var (
	// ErrUncertain is the error of a change that got no answer.
	ErrUncertain = resp.NewError("UNCERTAIN", "no answer has arrived: the command may or may not have been applied")

	errDraining = resp.NewError("TRYAGAIN", "the server is shutting down, and nothing was changed")
)

// await returns the error that done receives when the Exec has answered a batch. If ctx ends first,
// a batch that only reads (looks) fails with the cause of that end. A batch that may write waits
// for at most lastWait more, and then fails with ErrUncertain. In both cases the Exec still owns
// the batch.
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
