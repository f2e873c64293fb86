package engine

import (
	"errors"
	"fmt"
)

// Check returns an error if an op from outside is invalid in a batch that is Atomic or not.
// Requires: its Params are zero or checked, and the lengths of Key and ID are checked.
func (op *Op) Check(atomic bool) error {
	none := op.Params == Params{}
	held := !none && op.Params.alg().lessor != nil
	plain := op.Params.Alg.IsPlain()
	guards := op.Mode&Guard != 0
	var ok bool
	switch op.Kind {
	case Take:
		ok = !none && !held && guards == (op.Params.Alg == Box) && (!guards || op.N <= 1)
	case Acquire:
		ok = held && !guards && (op.N == 0 || op.N == 1) && len(op.ID) > 0
	case Release:
		ok = len(op.ID) > 0
	case Needs:
		ok = none && op.Mode == 0 && Space(op.DB) < spaces
	case Refund:
		ok = op.Mode&(Fit|Partial) == 0 || op.hasValidAge()
	case Peek, Charge, Forget, Flush, Expect, Watch, Do, Learn:
		ok = true
	default:
		return fmt.Errorf("unknown kind of op %d", op.Kind)
	}
	switch {
	case !ok || plain:
		return fmt.Errorf("an op of kind %d lacks a field or has a wrong one", op.Kind)
	case op.Kind == Expect && !atomic:
		return errors.New("an Expect in a batch that is not atomic")
	case op.Kind != Expect && (op.N < 0 || op.N > MaxN):
		return fmt.Errorf("n is %d, 0 to %d is allowed", op.N, int64(MaxN))
	case op.DB >= Databases:
		return fmt.Errorf("database %d, 0 to %d are allowed", op.DB, Databases-1)
	case op.Group > MaxGroupOps:
		return fmt.Errorf("a group of %d, at most %d are allowed", op.Group, MaxGroupOps)
	}
	return nil
}

// CheckMember returns an error if a checked op must not be a member of a group.
func (op *Op) CheckMember() error {
	if op.Kind == Needs && op.Group > 1 {
		return nil
	}
	if op.settles() {
		return nil
	}
	if op.Kind != Take && op.Kind != Acquire || op.Mode&^groupModes != 0 || op.Mode&(op.Mode-1) != 0 {
		return fmt.Errorf("an op of kind %d and mode %#x in a group", op.Kind, op.Mode)
	}
	return nil
}

// CheckGroup returns an error if the ops do not form a valid group. Requires: each op is
// valid.
func CheckGroup(ops []Op) error {
	if ops[0].Kind == Needs {
		ops = ops[1:]
	}
	for i := range ops {
		if ops[i].settles() != ops[0].settles() {
			return errors.New("a group of ops that settle and of others")
		}
	}
	return nil
}

// CheckAlone returns an error if a checked op must be a member of a group.
func (op *Op) CheckAlone() error {
	if op.Mode&(AnyOf|Guard) != 0 || op.Kind == Needs {
		return fmt.Errorf("an op of kind %d and mode %#x outside of a group", op.Kind, op.Mode)
	}
	return nil
}
