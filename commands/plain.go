package commands

import (
	"slices"

	"limitsrv/commands/datatypes"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// plainCommands returns the commands of package datatypes, without those that have a line of their
// own because they work on limits as well.
func plainCommands() (all []*spec.Command) {
	for _, c := range pointers(datatypes.All()) {
		if c.Name != "" && !slices.Contains(anyKind, c.Name) {
			all = append(all, c)
		}
	}
	return all
}

// anyKind are the commands of package datatypes that work on limits as well. Outside of
// transactions and scripts all but OBJECT are ops without a call, which nodes of every
// version know.
var anyKind = []string{del.Name, unlink.Name, exists.Name, touch.Name, typeOf.Name, ttl.Name, pttl.Name, object.Name}

// pointers returns the addresses of the lines of a table.
func pointers(table []spec.Command) []*spec.Command {
	all := make([]*spec.Command, len(table))
	for i := range table {
		all[i] = &table[i]
	}
	return all
}

// workOf adds to look a call for the work of each call of the batch of, see spec.Call.Work.
func workOf(look, of *engine.Batch) {
	for i := range of.Ops {
		if op := &of.Ops[i]; op.Kind == engine.Do {
			if c := of.CallOf(op); datatypes.HasWork(c.Command) {
				datatypes.All()[c.Command].SetWork(look.AddCall(op.DB), c.Args)
			}
		}
	}
}
