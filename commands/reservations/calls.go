package reservations

import (
	"fmt"

	"limitsrv/engine"
)

// A kind describes the calls of a number.
type kind struct {
	name     string
	readOnly bool
	// all is set if a call may touch any key: the keys of a reservation stand in its record.
	all   bool
	check func(c *engine.Call) error
	do    func(w *worker, tx *engine.Tx, c *engine.Call)
}

// kinds has the calls by their numbers from firstCall on.
var kinds = [...]kind{
	callReserve - firstCall:      {name: "RL.RESERVE", check: checkReserve, do: (*worker).reserve},
	callExtend - firstCall:       {name: "RL.EXTEND", all: true, check: checkExtend, do: (*worker).extend},
	callCommit - firstCall:       {name: "RL.COMMIT", all: true, check: checkCommit, do: (*worker).commit},
	callCancel - firstCall:       {name: "RL.CANCEL", all: true, check: checkID, do: (*worker).cancel},
	callOnce - firstCall:         {name: "ONCE", check: check, do: (*worker).once},
	callReserved - firstCall:     {name: "RL.RESERVED", readOnly: true, check: checkID, do: (*worker).reserved},
	callReserveNamed - firstCall: {name: "RL.RESERVE amounts", check: checkReserve, do: (*worker).reserve},
	callCommitNamed - firstCall: {name: "RL.COMMIT amounts", all: true, check: checkCommitNamed,
		do: (*worker).commitNamed},
	callReservedOf - firstCall: {name: "RL.RESERVED KEY", readOnly: true, all: true, check: checkReservedOf,
		do: (*worker).reservedOf},
}

// kindOf returns the kind of a number; it is empty if the number is not in use.
func kindOf(number uint16) *kind {
	if i := int(number - firstCall); i < len(kinds) {
		return &kinds[i]
	}
	return &kind{}
}

// Calls implements spec.Family for the commands with an id.
type Calls struct{}

// Check returns an error if a call from outside can not be from this package.
func (Calls) Check(c *engine.Call) error {
	k := kindOf(c.Command)
	if k.do == nil {
		return fmt.Errorf("unknown command %d", c.Command)
	}
	c.ReadOnly = k.readOnly
	return k.check(c)
}

// Keys appends the indexes of the id and of the keys of the ops.
func (Calls) Keys(c *engine.Call, dst []int) (keys []int, all bool) {
	dst = append(dst, idArg)
	if !hasOps(c) {
		return dst, kindOf(c.Command).all
	}
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
func CallName(number uint16) string { return kindOf(number).name }

// Do applies a call.
func (Calls) Do(tx *engine.Tx, c *engine.Call) { Do(tx, c) }

// Do applies a call, and appends the answer to c.Answer. Requires: the shards of its keys were
// entered. No allocation in steady state for a call of Wrap.
func Do(tx *engine.Tx, c *engine.Call) {
	w := workers.Get().(*worker)
	defer w.release()
	kindOf(c.Command).do(w, tx, c)
}
