package datatypes

import "limitsrv/commands/spec"

// The groups of COMMAND DOCS.
const (
	groupString  = "string"
	groupGeneric = "generic"
	groupHash    = "hash"
	groupSorted  = "sorted-set"
	groupList    = "list"
	groupSet     = "set"
	groupBitmap  = "bitmap"
)

var (
	keyPairs = spec.Keys{First: 1, Last: -1, Step: 2}
	// allButLast are the keys before a timeout.
	allButLast = spec.Keys{First: 1, Last: -2, Step: 1}
)

// The numbers of calls that give back elements.
const (
	lPushNumber = 100
	rPushNumber = 101
)

// numbered sets the numbers of calls, and the flags that all commands of this package have.
func numbered(all []spec.Command) []spec.Command {
	for i := range all {
		if c := &all[i]; c.Name != "" {
			c.SetNumber(uint16(i))
			c.Flags |= spec.Plain
		}
	}
	return all
}
