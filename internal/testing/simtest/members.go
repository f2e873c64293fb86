package simtest

import (
	"fmt"
	"math/bits"
	"slices"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/reservations"
	"limitsrv/commands/rules/stored"
	"limitsrv/commands/scripts"
	"limitsrv/engine"
)

// A Coverage counts how often batches had each member of Members: kinds of ops, modes, groups,
// algorithms, calls.
type Coverage map[string]int

// Members returns the names of everything that Apply supports, from the tables of the engine and of
// the packages with calls.
func Members() (all []string) {
	for k := engine.Kind(0); k.String() != ""; k++ {
		all = append(all, kindMember(k))
	}
	for of := engine.AllModes; of != 0; of &= of - 1 {
		mode := engine.Mode(1) << bits.TrailingZeros8(uint8(of))
		alone, member := engine.Op{Mode: mode}, engine.Op{Mode: mode, Group: 1}
		if alone.CheckAlone() == nil {
			all = append(all, modeMember(mode, false))
		}
		if member.CheckMember() == nil {
			all = append(all, modeMember(mode, true))
		}
	}
	for a := engine.Alg(0); a.IsKnown() && !a.IsPlain(); a++ {
		all = append(all, "a limit by "+a.String())
	}
	all = append(all, groupMembers...)
	for _, f := range forms {
		all = append(all, f.name)
	}
	for number := range uint16(1<<16 - 1) {
		if name := callName(number); name != "" && !slices.Contains(all, callMember(name)) {
			all = append(all, callMember(name))
		}
	}
	return append(all, "an atomic batch", "another database")
}

// groupMembers are the forms of groups.
var groupMembers = []string{pairOf(engine.Take), pairOf(engine.Acquire), "a group of one", "a group of limits",
	"a group that needs documents", "a group that only looks", settles}

const settles = "a group that settles"

// forms are forms of ops that differ in neither kind nor mode.
var forms = []struct {
	name string
	is   func(op *engine.Op) bool
}{
	{"a Refund of what fits", func(op *engine.Op) bool { return op.Kind == engine.Refund && op.Mode == engine.Fit }},
	{"a Refund with an age",
		func(op *engine.Op) bool { return op.Kind == engine.Refund && op.Mode == engine.Fit && len(op.ID) > 0 }},
	{"a Charge of what fits", func(op *engine.Op) bool { return op.Kind == engine.Charge && op.Mode == engine.Fit }},
	{"a Charge that tells the part",
		func(op *engine.Op) bool { return op.Kind == engine.Charge && op.Mode == engine.Partial }},
	{"a Charge under parameters", func(op *engine.Op) bool { return op.Kind == engine.Charge && op.Params.Limit > 0 }},
	{"a Take that looks for permits", func(op *engine.Op) bool { _, looks := op.Looked(); return looks }},
}

func kindMember(k engine.Kind) string { return "an op of kind " + k.String() }

func modeMember(m engine.Mode, member bool) string {
	if member {
		return fmt.Sprintf("mode %#x in a group", byte(m))
	}
	return fmt.Sprintf("mode %#x alone", byte(m))
}

func pairOf(k engine.Kind) string { return "a Needs with one " + k.String() }

func callMember(name string) string { return "the call " + name }

// callName returns the name of a call, or "" if the number is not in use.
func callName(number uint16) string {
	if all := datatypes.All(); int(number) < len(all) {
		return all[number].Name
	}
	if name := scripts.CallName(number); name != "" {
		return name
	}
	if name := stored.CallName(number); name != "" {
		return name
	}
	return reservations.CallName(number)
}

// loadRules is the name of the call that loads rules.
const loadRules = "RL.RULES LOAD"

// Add counts the members that a batch has.
func (c Coverage) Add(b *engine.Batch) {
	if b.Atomic {
		c["an atomic batch"]++
	}
	for i := 0; i < len(b.Ops); {
		op, to := &b.Ops[i], i+1
		if op.IsGroup() {
			to = i + int(op.Group)
			c.addGroup(b.Ops[i:to])
		}
		for j := i; j < to; j++ {
			c.addOp(b, &b.Ops[j], op.IsGroup())
		}
		i = to
	}
}

func (c Coverage) addOp(b *engine.Batch, op *engine.Op, member bool) {
	c[kindMember(op.Kind)]++
	for _, f := range forms {
		if f.is(op) {
			c[f.name]++
		}
	}
	for of := op.Mode; of != 0; of &= of - 1 {
		c[modeMember(engine.Mode(1)<<bits.TrailingZeros8(uint8(of)), member)]++
	}
	if op.Params != (engine.Params{}) {
		c["a limit by "+op.Params.Alg.String()]++
	}
	if op.DB != 0 && op.Kind != engine.Needs {
		c["another database"]++
	}
	if op.Kind == engine.Do {
		c[callMember(callName(b.Calls[op.N].Command))]++
	}
}

func (c Coverage) addGroup(ops []engine.Op) {
	needs := ops[0].Kind == engine.Needs
	looks := !slices.ContainsFunc(ops, func(op engine.Op) bool { return op.Kind != engine.Needs && op.N > 0 })
	last := &ops[len(ops)-1]
	switch {
	case last.Kind != engine.Take && last.Kind != engine.Acquire:
		c[settles]++
	case needs && len(ops) == 2 && ops[1].Mode == 0:
		c[pairOf(ops[1].Kind)]++
	case len(ops) == 1:
		c["a group of one"]++
	case needs:
		c["a group that needs documents"]++
	default:
		c["a group of limits"]++
	}
	if looks {
		c["a group that only looks"]++
	}
}

// Missing returns the members that no batch has had, in the order of Members.
func (c Coverage) Missing() []string {
	return slices.DeleteFunc(Members(), func(name string) bool { return c[name] > 0 })
}
