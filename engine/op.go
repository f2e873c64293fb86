package engine

// Bounds of the values of an Op. The code that creates an Op must check them; the engine
// relies on them and does not check again.
const (
	MaxKeyBytes = 1024
	MaxIDBytes  = 1024
	// Databases is the number of keyspaces. They share memory and shards.
	Databases = 16
	MaxLimit  = 1_000_000_000_000
	// MaxListed bounds the limit of LOG and LEASE, because their state grows with the
	// permits in use.
	MaxListed = 1_000_000
	// MaxN bounds the permits of a request: more than could ever be charged.
	MaxN = 2*MaxLimit + 1
	// MinPeriod and MaxPeriod bound a window and a ttl, in nanoseconds: one microsecond
	// to ten years of 365 days.
	MinPeriod = 1_000
	MaxPeriod = 10 * 365 * 24 * 3600 * 1_000_000_000
	// MaxRateCount and MaxRatePeriod bound the count and the period of a rate in lowest
	// terms, so that any number of nine decimals a second is valid. Their minimum is 1.
	MaxRateCount  = 1_000_000_000_000_000_000
	MaxRatePeriod = 1_000_000_000_000_000_000
	// MaxGroup bounds the limits in a group, and MaxGroupOps its ops: with a Guard for each
	// limit, and a Needs.
	MaxGroup    = 64
	MaxGroupOps = 2*MaxGroup + 1
)

// A Kind is the kind of an Op.
type Kind uint8

const (
	// Take decides about N permits under Params. N = 0 is read-only: it writes nothing
	// and changes no parameters.
	Take Kind = iota
	// Peek reports the state of a key under its current parameters.
	Peek
	// Refund returns N permits, but never more than are in use. If it has Params, the key must
	// have their algorithm; the other Params are ignored.
	//
	// With the mode Fit it returns only permits of the current window, and of a LOG the oldest.
	// With an age, see SetAge, it returns only permits of the window that they were taken in, and
	// of a bucket only the part that it can't have earned back. Allowed is 0 if no permit could be
	// returned.
	Refund
	// Charge takes N permits unconditionally. With Params it creates a missing key, as a Take
	// does. The key may go into debt by at most another limit; otherwise the Charge takes nothing
	// and Allowed is 0. With the mode Fit it takes as many permits as fit. Allowed is then 1 if
	// all fit; with the mode Partial it is their number.
	Charge
	// Forget drops a key. Allowed is 1 if there was one. See Evict.
	Forget
	// Acquire takes or renews the lease of the holder ID under Params, with Period as its
	// ttl. N = 0 is read-only, as for a Take.
	Acquire
	// Release returns the lease of the holder ID. Allowed is 1 if it held a lease.
	Release
	// Flush drops every key, or every key of a database. It has no key of its own. See FlushOf.
	Flush
	// Expect aborts its batch, which must be Atomic, unless the key has a Fingerprint. Nothing of
	// an aborted batch is applied. See ExpectOf.
	Expect
	// Watch returns the key's Fingerprint in Remaining, for an Expect: 0 if there is no
	// live key. It writes nothing.
	Watch
	// Do carries out a call of its batch, see Batch.AddCall and Batch.CallOf. Apply sets its Key
	// to the first key of the call, or to nil.
	Do
	// Learn adds ID, of up to MaxSourceBytes, to the sources, unless it is there already.
	// Without an ID it drops or flushes all sources. It has no key. See Batch.AddLearn.
	Learn
	// Needs is the first op of a group. Unless its version is the DocumentsVersion of its Space,
	// all ops of the group are answered Stale, and nothing is changed. Otherwise Allowed is 1. It
	// has no key, and the group another member. See NeedsOf.
	Needs

	kinds
)

// kindNames are the names of the kinds, for error messages.
var kindNames = [kinds]string{
	Take: "Take", Peek: "Peek", Refund: "Refund", Charge: "Charge", Forget: "Forget", Acquire: "Acquire",
	Release: "Release",
	Flush:   "Flush", Expect: "Expect", Watch: "Watch", Do: "Do", Learn: "Learn", Needs: "Needs",
}

// String returns the name of the kind, or "" for an unknown kind.
func (k Kind) String() string {
	if k >= kinds {
		return ""
	}
	return kindNames[k]
}

// A Mode changes the answer of a Take or Acquire, or its part in a group. Modes are flags;
// their bits stand in logs.
type Mode uint8

const (
	// Partial grants as many permits as are left, up to N. Allowed is the number granted.
	// No op of a group has it.
	Partial Mode = 1 << 0
	// Fit is the mode of a Refund or a Charge with the meaning of version 4 of log entries. It has
	// the same bit as Shadow, which these kinds do not have. Partial means the same for a Charge,
	// except for Allowed.
	Fit = Shadow
	// Shadow decides and counts as usual, but the answer is that all N were allowed: 1,
	// or N under Partial. In a group it is another: see Op.Group.
	Shadow Mode = 1 << 1
	// AnyOf is a mode of ops in groups only, see Op.Group.
	AnyOf Mode = 1 << 5
	// Guard is the mode of a Take on a penalty box, of N = 1 or 0, with the Params of a
	// Penalty. It guards the members of its group that follow it, up to the next Guard.
	//
	// If the box of any Guard is closed, the group is refused before any other member is
	// looked at: the decisions on these are zero, without Params. Otherwise, if the group is
	// refused by a guarded member without a mode, the box gets a strike, unless N is 0. If a
	// strike needs memory that there is not, the group changes nothing at all. New
	// parameters of a box are in force at once, and are stored with the next strike.
	//
	// In the decision Allowed is 1 if the box was open. The other fields describe it after
	// the strike: Remaining is the number of strikes left until it closes, 0 if it is closed;
	// Wait is the time until it opens, 0 if it is open: so a Wait with Allowed 1 is of a box
	// that this request has closed. Reset is the time until the box is as good as new.
	Guard Mode = 1 << 6

	groupModes = Shadow | AnyOf | Guard
	// AllModes is the union of all modes of ops.
	AllModes = Partial | groupModes
)

// A NoQuorum selects the answer to a group while no majority of the cluster can be reached.
type NoQuorum uint8

const (
	// NoQuorumDefault selects the policy of the node.
	NoQuorumDefault NoQuorum = iota
	// NoQuorumError answers the group with an error.
	NoQuorumError
	// NoQuorumAllow and NoQuorumDeny allow and deny the group.
	NoQuorumAllow
	NoQuorumDeny
	// NoQuorumLocal decides the group from the last state of the node.
	NoQuorumLocal
)

// An Op is a request to read or change a key. Commands are parsed into Ops, log entries
// hold Ops, and a decision depends on nothing but the Op, the time and the state.
type Op struct {
	Kind Kind
	Mode Mode
	// Group is the number of ops that are decided together: this op and the following. 0 means no
	// group, and so does 1 for an op without a mode or with Partial. The ops after the first have
	// Group 0.
	//
	// The members of a group are either Takes and Acquires, each with at most one mode, or all
	// members settle. A Needs may precede them.
	//
	// A group of Takes and Acquires passes if all members without a mode pass and, if some members
	// have the mode AnyOf, at least one of these passes. If the group passes, all members that
	// pass take. Otherwise no member takes. So a Shadow member never denies the group. A member
	// with N = 0 only looks: it passes, and changes nothing. The Allowed of each member tells
	// whether this limit alone would pass. See Passed and Guard.
	//
	// Members that settle are Charges and Refunds with the mode Fit or Partial, Releases and
	// Peeks. Each is applied as it would be without the group, all at the same moment.
	Group uint8
	// DB is the database of the key, below Databases.
	DB uint8
	// NoQuorum of a Needs is the policy for its group. The executor uses it. Apply ignores it, and
	// logs do not contain it.
	NoQuorum NoQuorum
	Params   Params
	// N is a number of permits from 0 to MaxN; larger values behave as MaxN. For an Acquire it is 1
	// or 0. Other kinds have another number in its place, see the functions of op_fields.go.
	N   int64
	Key []byte
	// ID is a holder. See SetAge, LookFor and Batch.AddLearn for kinds without a holder.
	ID []byte
}

// settles reports whether the op may be a member of a group that settles.
func (op *Op) settles() bool {
	return op.isAdjusting() && op.Mode&^(Fit|Partial) == 0 || (op.Kind == Release || op.Kind == Peek) && op.Mode == 0
}

// IsGroup reports whether the op is the first of a group.
func (op *Op) IsGroup() bool {
	return op.Group > 1 || op.Group == 1 && op.Mode != 0 && op.Mode&Partial == 0
}

// readOnly reports whether the op can change nothing.
func (op *Op) readOnly() bool {
	switch op.Kind {
	case Peek, Expect, Watch, Needs:
		return true
	case Take, Acquire, Refund, Charge:
		return op.N == 0
	}
	return false
}

// isAdjusting reports whether the op is a Refund or a Charge with the mode Fit or Partial.
func (op *Op) isAdjusting() bool {
	return (op.Kind == Refund || op.Kind == Charge) && op.Mode&(Fit|Partial) != 0
}

// A Space is a set of documents with names of their own.
type Space uint8

// The spaces. They stand in snapshots: append, never reorder.
const (
	Libraries Space = iota // of functions
	Rules                  // and overrides
	spaces
)
