package session

import (
	"context"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/resp"
	"limitsrv/engine"
)

// lastWait bounds the wait for the answer to a change after its context has ended.
const lastWait = 3 * time.Second

var (
	// ErrUncertain is the error of a change that got no answer.
	ErrUncertain = resp.NewError("UNCERTAIN", "no answer has arrived: the command may or may not have been applied")

	errDraining = resp.NewError("TRYAGAIN", "the server is shutting down, and nothing was changed")
)

// await executes a batch and returns its error. If ctx ends first, a batch that only reads fails
// with the cause of that end. A batch that may write waits for at most lastWait more, and then fails
// with ErrUncertain. In both cases the Exec still owns the batch.
func (h *Handler) await(ctx context.Context, b *engine.Batch) error {
	c, looks := backend.NewCaller(), b.Looks()
	err := h.executor.Await(ctx, c, b)
	if looks || err == nil || err != context.Cause(ctx) {
		return err
	}
	last, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), lastWait, ErrUncertain)
	defer cancel()
	return c.Wait(last)
}
