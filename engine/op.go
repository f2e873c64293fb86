package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// An Instant is a point in time: nanoseconds since the Unix epoch, never negative.
type Instant int64

// MaxSlew bounds the slew of a clock that provides Instants: it gains or loses at most
// one part in MaxSlew of the elapsed time.
const MaxSlew = 1000

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
	// With an age, see SetAge, it returns only permits of the window in which they were taken, and
	// of a bucket only the part that it can't have earned back. Allowed is 0 if no permit could be
	// returned.
	Refund
	// Charge takes N permits unconditionally. With Params it creates a missing key, as a Take
	// does. The key may go into debt by at most one more limit; otherwise the Charge takes nothing
	// and Allowed is 0. With the mode Fit it takes as many permits as fit. Allowed is then 1 if
	// all fit; with the mode Partial it is their number.
	Charge
	// Forget drops a key. Allowed is 1 if there was one. If N is 1, it is an eviction, see
	// Room.Victims, and counts in Stats.Evicted.
	Forget
	// Acquire takes or renews the lease of the holder ID under Params, with Period as its
	// ttl. N = 0 is read-only, as for a Take.
	Acquire
	// Release returns the lease of the holder ID. Allowed is 1 if it held one.
	Release
	// Flush drops every key, or, if N is 1, every key of DB. It has no key of its own.
	Flush
	// Expect aborts its batch, which must be Atomic, unless the key's Fingerprint is N.
	// Nothing of an aborted batch is applied.
	Expect
	// Watch returns the key's Fingerprint in Remaining, for an Expect: 0 if there is no
	// live key. It writes nothing.
	Watch
	// Do carries out the call with index N of its batch. Apply sets its Key to the first key
	// of the call, or to none.
	Do
	// Learn adds ID, of up to MaxSourceBytes, to the sources, unless it is there already.
	// Without an ID it drops all sources, or, if N is 1, flushes them. It has no key.
	Learn
	// Needs is the first op of a group. Unless N is the DocumentsVersion of the Space with the
	// number DB, all ops of the group are answered Stale, and nothing is changed. Otherwise
	// Allowed is 1. It has no key, and the group another member.
	Needs

	kinds
)

// kindNames are the names of the kinds, for error messages.
var kindNames = [kinds]string{
	Take: "Take", Peek: "Peek", Refund: "Refund", Charge: "Charge", Forget: "Forget", Acquire: "Acquire", Release: "Release",
	Flush: "Flush", Expect: "Expect", Watch: "Watch", Do: "Do", Learn: "Learn", Needs: "Needs",
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
	// refused by a guarded member without a mode, the box gets one strike, unless N is 0. If
	// a strike needs memory that there is not, the group changes nothing at all. New
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

// An Op is one request to read or change a key. Commands are parsed into Ops, log entries
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
	// Peeks. Each is applied as it would be without the group, all at one moment.
	Group uint8
	// DB is the database of the key, below Databases.
	DB uint8
	// NoQuorum of a Needs is the policy for its group. The executor uses it. Apply ignores it, and
	// logs do not contain it.
	NoQuorum NoQuorum
	Params   Params
	// N is from 0 to MaxN; larger values behave as MaxN. For an Acquire it is 1 or 0.
	N   int64
	Key []byte
	// ID is a holder, a source, an age (see SetAge) or a number of permits (see LookFor).
	ID []byte
}

// Check returns an error if an op from outside is invalid in a batch that is Atomic or not.
// Requires: its Params are zero or checked, and the lengths of Key and ID are checked.
func (op *Op) Check(atomic bool) error {
	none := op.Params == Params{}
	held := !none && op.Params.alg().lessor != nil
	plain := op.Params.Alg.IsPlain()
	guards := op.Mode&Guard != 0
	var ok bool
	switch op.Kind {
	case Take:
		ok = !none && !held && guards == (op.Params.Alg == Box) && (!guards || op.N <= 1)
	case Acquire:
		ok = held && !guards && (op.N == 0 || op.N == 1) && len(op.ID) > 0
	case Release:
		ok = len(op.ID) > 0
	case Needs:
		ok = none && op.Mode == 0 && Space(op.DB) < spaces
	case Refund:
		ok = op.Mode&(Fit|Partial) == 0 || op.hasValidAge()
	case Peek, Charge, Forget, Flush, Expect, Watch, Do, Learn:
		ok = true
	default:
		return fmt.Errorf("unknown kind of op %d", op.Kind)
	}
	switch {
	case !ok || plain:
		return fmt.Errorf("an op of kind %d lacks a field or has a wrong one", op.Kind)
	case op.Kind == Expect && !atomic:
		return errors.New("an Expect in a batch that is not atomic")
	case op.Kind != Expect && (op.N < 0 || op.N > MaxN):
		return fmt.Errorf("n is %d, 0 to %d is allowed", op.N, int64(MaxN))
	case op.DB >= Databases:
		return fmt.Errorf("database %d, 0 to %d are allowed", op.DB, Databases-1)
	case op.Group > MaxGroupOps:
		return fmt.Errorf("a group of %d, at most %d are allowed", op.Group, MaxGroupOps)
	}
	return nil
}

// CheckMember returns an error if a checked op must not be a member of a group.
func (op *Op) CheckMember() error {
	if op.Kind == Needs && op.Group > 1 {
		return nil
	}
	if op.settles() {
		return nil
	}
	if op.Kind != Take && op.Kind != Acquire || op.Mode&^groupModes != 0 || op.Mode&(op.Mode-1) != 0 {
		return fmt.Errorf("an op of kind %d and mode %#x in a group", op.Kind, op.Mode)
	}
	return nil
}

// settles reports whether the op may be a member of a group that settles.
func (op *Op) settles() bool {
	return op.isAdjusting() && op.Mode&^(Fit|Partial) == 0 || (op.Kind == Release || op.Kind == Peek) && op.Mode == 0
}

// CheckGroup returns an error if the ops, each of which is valid, do not form a valid group.
func CheckGroup(ops []Op) error {
	if ops[0].Kind == Needs {
		ops = ops[1:]
	}
	for i := range ops {
		if ops[i].settles() != ops[0].settles() {
			return errors.New("a group of ops that settle and of others")
		}
	}
	return nil
}

// CheckAlone returns an error if a checked op must be a member of a group.
func (op *Op) CheckAlone() error {
	if op.Mode&(AnyOf|Guard) != 0 || op.Kind == Needs {
		return fmt.Errorf("an op of kind %d and mode %#x outside of a group", op.Kind, op.Mode)
	}
	return nil
}

// LookFor makes a Take with N = 0 look for n permits: if fewer are left, the decision has the Wait
// of a Take of n. It does not allocate for n = 1.
func (op *Op) LookFor(n int64) {
	if op.ID = one[:]; n != 1 {
		op.ID = binary.LittleEndian.AppendUint64(nil, uint64(n))
	}
}

// Looked returns the n of an op that LookFor has prepared; ok is false for any other op.
func (op *Op) Looked() (n int64, ok bool) {
	if op.Kind != Take || op.N > 0 || len(op.ID) != len(one) {
		return 0, false
	}
	return op.looksFor(), true
}

// one is the ID that LookFor(1) sets.
var one = [8]byte{1}

// looksFor returns the number of permits that an op with N = 0 looks for.
func (op *Op) looksFor() int64 {
	switch {
	case op.N > 0:
		return 0
	case op.Kind == Acquire:
		return 1
	case len(op.ID) == len(one):
		return int64(min(binary.LittleEndian.Uint64(op.ID), MaxN))
	}
	return 0
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

// A Status tells if an Op was applied, and if not, the reason.
type Status uint8

const (
	// OK means that the other fields of the Decision are valid.
	OK Status = iota
	// Missing means that the key does not exist.
	Missing
	// WrongType means that the key belongs to another algorithm: the one in the
	// Decision's Params, until Reset from now. In a group all ops have this status, and
	// those without Params have a key of no other algorithm.
	WrongType
	// NoMemory means that the key would need memory beyond the bound, or would be a new
	// one in a batch that is Full.
	NoMemory
	// Aborted means that an Expect of the batch failed.
	Aborted
	// Down means that no majority of a cluster was reachable and nothing was applied. An
	// Engine never returns it.
	Down
	// Stale means that the version of documents that a Needs names is not in force.
	Stale
)

// A Decision answers one Op.
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
	// Wait is the time until the same request would pass if there were no others, or
	// Never. It is 0 if the request passed, except under LEAKY: there it is the time to
	// hold it.
	Wait Span
	// Reset is the time until the key is fully reset.
	Reset Span
}

// A Span is a length of time in whole milliseconds and the remaining nanoseconds, rounded
// up to a nanosecond. Spans beyond 292 million years are cut to that length.
type Span struct {
	Millis int64
	Nanos  int64 // 0 to 999_999
}

// Never is the wait of a request that can never pass.
var Never = Span{Millis: -1}

// CeilMillis returns the span in milliseconds, rounded up; -1 for Never.
func (s Span) CeilMillis() int64 {
	if s.Nanos > 0 && s.Millis < math.MaxInt64 {
		return s.Millis + 1
	}
	return s.Millis
}
