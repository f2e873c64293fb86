package reservations

import "errors"

// The numbers of calls. They stand in logs: never change them. firstCall + 5 is not in use.
const (
	firstCall        uint16 = 4 << 12
	callReserve             = firstCall + 0 // see Reserve
	callExtend              = firstCall + 1 // see Extend
	callCommit              = firstCall + 2 // see Commit
	callCancel              = firstCall + 3 // see Cancel
	callOnce                = firstCall + 4 // see Wrap
	callReserved            = firstCall + 6 // see Reserved
	callReservedOf          = firstCall + 7 // see ReservedOf
	callReserveNamed        = firstCall + 8 // see Reserve
	callCommitNamed         = firstCall + 9 // see CommitNamed
)

// The first argument of a call is the id or key. The second argument is a head, except for Cancel and
// Reserved; see the function that appends the call. The head of Wrap is the hash of the request in 8 bytes,
// little-endian, and the milliseconds to remember it. Calls of Wrap and Reserve have two more arguments for
// each op: its spec and its key. A spec is a byte for Kind and for Mode; N; the length of ID, and ID; for a
// Needs a byte for its space; and the Params, unless they are zero. Numbers are unsigned varints.
const (
	idArg    = 0
	headArg  = 1
	firstOp  = 2
	opArgs   = 2
	hashSize = 8
)

// The work of calls, in visits to an element, see Tx.AddWork. The engine counts the work for the holds of a
// key.
const (
	workPerLimit = 32 // to read a limit, decide or charge it, and store or answer it
	workPerHold  = 16 // to find the hold of a layer
	workPerName  = 4  // to find an amount by its name, or to weigh it
	workPerHeld  = 16 // to find the id of a hold, and answer it
)

const ms = 1e6 // nanoseconds

// ceilMillis returns nanoseconds in milliseconds, rounded up.
func ceilMillis(nanos int64) int64 { return (nanos + ms - 1) / ms }

var errCall = errors.New("a call with an id that can not be")
