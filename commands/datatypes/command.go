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

// The texts of errors of SELECT, for clients and scripts, after the code ERR.
const (
	DBRange  = "DB index is out of range"
	NotInt32 = "value is out of range, value must between -2147483648 and 2147483647"
)

var (
	keyPairs = spec.Keys{First: 1, Last: -1, Step: 2}
	// allButLast are the keys before a timeout.
	allButLast = spec.Keys{First: 1, Last: -2, Step: 1}
)
