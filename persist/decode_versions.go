package persist

import (
	"errors"
	"fmt"

	"limitsrv/engine"
)

// flags are the bits that a version of the format may have set, and its last kind of op.
// Without members, all members of groups are Takes without a mode.
type flags struct {
	head, more byte
	lastKind   engine.Kind
	members    bool
	// adjusts is set if Refunds and Charges may have modes, and if groups may settle.
	adjusts bool
}

var flagsOf = [...]flags{
	entryLimits: {headAtomic | headFull, modeBits | moreGroup | moreID, engine.Watch, false, false},
	entryPlain: {headAtomic | headFull | headLevel | headTight, modeBits | moreGroup | moreID | moreDB, engine.Learn,
		false, false},
	entryGroups: {headAtomic | headFull | headLevel | headTight, modeBits | partBits | moreGroup | moreID | moreDB,
		engine.Needs, true, false},
	entryAdjusts: {headAtomic | headFull | headLevel | headTight, modeBits | partBits | moreGroup | moreID | moreDB,
		engine.Needs, true, true},
	entryIDs: {headAtomic | headFull | headLevel | headTight, modeBits | partBits | moreGroup | moreID | moreDB,
		engine.Needs, true, true},
	entryHolds: {headAtomic | headFull | headLevel | headTight, modeBits | partBits | moreGroup | moreID | moreDB,
		engine.Needs, true, true},
	entryVersion: {headAtomic | headFull | headLevel | headTight, modeBits | partBits | moreGroup | moreID | moreDB,
		engine.Needs, true, true},
}

// group checks the part of an op in a group. left is the number of ops that are left of the
// current group, without this op.
func (d *Decoder) group(op *engine.Op, left *int) error {
	switch {
	case *left > 0 && op.Group != 0:
		return errors.New("a group within a group")
	case *left > 0:
		*left--
	case op.IsGroup():
		*left = int(op.Group) - 1
	default:
		return op.CheckAlone()
	}
	if !d.flags.members && !isPlainTake(op) {
		return errGroup
	}
	if !d.flags.adjusts && op.Kind != engine.Take && op.Kind != engine.Acquire && op.Kind != engine.Needs {
		return fmt.Errorf("an op of kind %d and mode %#x in a group", op.Kind, op.Mode)
	}
	return op.CheckMember()
}
