package engine

const (
	// OK means that the other fields of the Decision are valid.
	OK Status = iota
	// Missing means that the key does not exist.
	Missing
	// WrongType means that the key belongs to another algorithm: the algorithm in the
	// Decision's Params, until Reset from now. In a group all ops have this status, and
	// those without Params have a key of no other algorithm.
	WrongType
	// NoMemory means that the key would need memory beyond the bound, or would be a new key
	// in a batch that is Full.
	NoMemory
	// Aborted means that an Expect of the batch failed.
	Aborted
	// Down means that no majority of a cluster was reachable and nothing was applied. An
	// Engine never returns it.
	Down
	// Stale means that the version of documents that a Needs names is not in force.
	Stale
)

// A Status tells if an Op was applied, and if not, the reason.
type Status uint8

// A Decision answers an Op.
type Decision struct {
	Status Status
	// Changed is set if the op may have changed the state or the parameters of a key, so
	// that it must be logged. If it is false the op changed nothing. In a group it is the
	// same for all.
	Changed bool
	// NoQuorum is set by the executor if it allowed or denied the op without an Apply, because
	// no majority of the cluster can be reached.
	NoQuorum bool
	// Params are the parameters in force for the key after this op.
	Params Params
	// Allowed is 1 or 0; under Partial the number of permits granted. In a group it tells
	// whether this limit by itself would pass, after the permits of earlier members on the
	// same key: see Passed.
	Allowed int64
	// Remaining is the number of whole permits left after this decision.
	Remaining int64
	// Wait is the time until the same request would pass without other requests, or Never.
	// It is 0 if the request passed, except under LEAKY: there it is the time to hold it.
	Wait Span
	// Reset is the time until the key is fully reset.
	Reset Span
}
