package reservations

import (
	"fmt"

	"limitsrv/engine"
)

// The numbers of calls. They stand in logs: never change them. The numbers before callOnce are for
// amounts that are held.
const (
	firstCall uint16 = 4 << 12
	callOnce         = firstCall + 4 // see Wrap
)

// Calls implements spec.Family for the commands with ONCE.
type Calls struct{}

// Check returns an error if a call from outside can not be from Wrap.
func (Calls) Check(c *engine.Call) error {
	if c.Command != callOnce {
		return fmt.Errorf("unknown command %d", c.Command)
	}
	return check(c)
}

// Keys appends the indexes of the id and of the keys of the ops.
func (Calls) Keys(c *engine.Call, dst []int) (keys []int, all bool) {
	dst = append(dst, idArg)
	for i := firstOp + 1; i < len(c.Args); i += opArgs {
		if len(c.Args[i]) > 0 { // a Needs has no key
			dst = append(dst, i)
		}
	}
	return dst, false
}

// Describe returns the name of a call.
func (Calls) Describe(c *engine.Call) (name string, script []byte) { return CallName(c.Command), nil }

// CallName returns the name of a call of this package, for messages, or "" if the number is not in
// use.
func CallName(number uint16) string {
	if number == callOnce {
		return "ONCE"
	}
	return ""
}

// Do carries out a call.
func (Calls) Do(tx *engine.Tx, c *engine.Call) { Do(tx, c) }
