package limiters

import (
	"slices"

	"limitsrv/commands/spec"
)

// table lists the commands, in the order of help. To add a command, add a file and a line.
// The commands that take permits follow from the table of algorithms.
var table = slices.Concat(takeCommands(), []spec.Command{
	rlAcquire, rlRelease, rlAll, rlPeek, rlRefund, rlCharge,
	clThrottle, rlThrottle, throttle, gcra,
})

// All returns the commands. The caller must not change them.
func All() []spec.Command { return table }
