package reservations

import "errors"

// The numbers of calls. They stand in logs: never change them.
const (
	firstCall    uint16 = 4 << 12
	callReserve         = firstCall + 0 // see Reserve
	callExtend          = firstCall + 1 // see Extend
	callCommit          = firstCall + 2 // see Commit
	callCancel          = firstCall + 3 // see Cancel
	callOnce            = firstCall + 4 // see Wrap
	callReserved        = firstCall + 6 // see Reserved
)

// The arguments of a call are the id; a head, the hash of the request in 8 bytes, little-endian, and
// the milliseconds to remember it; then for each op its spec and its key. A spec is a byte for Kind and
// for Mode; N; the length of ID, and ID; for a Needs a byte for its space; and the Params, unless they
// are zero. Numbers are unsigned varints.
const (
	idArg    = 0
	headArg  = 1
	firstOp  = 2
	opArgs   = 2
	hashSize = 8
)

var errCall = errors.New("a call with an id that can not be")
