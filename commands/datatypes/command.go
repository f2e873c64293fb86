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
