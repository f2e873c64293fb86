package engine

import (
	"fmt"
	"math"
)

// An Instant is a point in time: nanoseconds since the Unix epoch, never
// negative.
type Instant int64

// MaxSlew bounds how fast a clock that gives Instants follows another: it gains or loses
// at most one part in so many of the elapsed time.
const MaxSlew = 1000

// Bounds of the values of an Op. Whoever makes one checks them; the engine
// relies on them and does not check again.
const (
	MaxKeyBytes = 1024
	MaxIDBytes  = 1024
	MaxLimit    = 1_000_000_000_000
	// MaxListed bounds the limit of the algorithms whose state grows with the
	// permits given: LOG and LEASE.
	MaxListed = 1_000_000
	// MaxN bounds the permits asked for: more than could ever be charged.
	MaxN = 2*MaxLimit + 1
	// MinPeriod and MaxPeriod bound a window and a ttl, in nanoseconds: one
	// microsecond to ten years of 365 days.
	MinPeriod = 1_000
	MaxPeriod = 10 * 365 * 24 * 3600 * 1_000_000_000
	// MaxRateCount and MaxRatePeriod bound the count and the period of a rate in lowest
	// terms, so that any number of nine decimals a second can be held; their least is 1.
	MaxRateCount  = 1_000_000_000_000_000_000
	MaxRatePeriod = 1_000_000_000_000_000_000
	// MaxGroup is how many limits may be taken all or none.
	MaxGroup = 64
)

// A Kind says what an Op asks for.
type Kind uint8

const (
	// Take decides about N permits under Params. N = 0 only looks: it writes
	// nothing and changes no parameters.
	Take Kind = iota
	// Peek tells how a key stands under the parameters that it was last used with.
	Peek
	// Refund gives N permits back, never above full. If it has Params, the key must
	// be of their algorithm; they are not used otherwise.
	Refund
	// Charge takes N permits without asking. The key may go into debt by at most
	// one more limit; beyond that nothing is taken and Allowed is 0.
	Charge
	// Forget drops a key. Allowed is 1 if there was one.
	Forget
	// Acquire takes or renews the place of the holder ID under Params, whose
	// Period is the ttl.
	Acquire
	// Release gives the place of the holder ID back. Allowed is 1 if it held one.
	Release
	// Flush drops every key. It has no key itself.
	Flush
	// Expect aborts its batch, which must be Atomic, unless the key's
	// Fingerprint is N. Nothing of the batch is applied then.
	Expect
	// Watch tells the key's Fingerprint as Remaining, for an Expect: 0 if there is
	// no live key. It writes nothing.
	Watch
)

// A Mode changes how a Take or Acquire is answered; modes add up.
type Mode uint8

const (
	// Partial grants what is there, up to N. Allowed is the number granted.
	Partial Mode = 1 << iota
	// Shadow decides and counts as ever, but answers that all N were allowed: 1, or
	// N under Partial.
	Shadow
)

// Params are what a limit is made of. They are comparable, and equal if they
// mean the same: rates are in lowest terms.
type Params struct {
	Alg Alg
	// Calendar, for FIXED only, replaces Period by a span of the UTC calendar.
	Calendar Calendar
	// Limit is the capacity or limit, 1 to MaxLimit, or to MaxListed.
	Limit int64
	// Count is how many permits are earned back per Period: TOKEN and LEAKY
	// only, 1 to MaxRateCount, at most one per nanosecond, in lowest terms with Period.
	Count int64
	// Period is in nanoseconds: of a rate, or a window, or a ttl.
	Period int64
}

// Check says what is wrong with parameters that come from outside, nil if
// nothing is. That a rate is in lowest terms is not checked.
func (p *Params) Check() error {
	most := int64(MaxLimit)
	if p.Alg == Log || p.Alg == Lease {
		most = MaxListed
	}
	rated := p.Alg == Token || p.Alg == Leaky
	switch {
	case p.Alg >= algs:
		return fmt.Errorf("there is no algorithm %d", p.Alg)
	case p.Limit < 1 || p.Limit > most:
		return fmt.Errorf("limit %d of %v is not from 1 to %d", p.Limit, p.Alg, most)
	case rated && (p.Count < 1 || p.Count > MaxRateCount || p.Period < p.Count || p.Period > MaxRatePeriod):
		return fmt.Errorf("rate of %d per %d ns is out of range", p.Count, p.Period)
	case !rated && p.Count != 0:
		return fmt.Errorf("%v has a rate", p.Alg)
	case p.Calendar > Year || p.Calendar != NoCalendar && (p.Alg != Fixed || p.Period != 0):
		return fmt.Errorf("calendar %d does not go with %v and a window of %d ns", p.Calendar, p.Alg, p.Period)
	case !rated && p.Calendar == NoCalendar && (p.Period < MinPeriod || p.Period > MaxPeriod):
		return fmt.Errorf("window of %d ns is not from %d to %d", p.Period, MinPeriod, int64(MaxPeriod))
	}
	return nil
}

// A Calendar is a span of the UTC calendar.
type Calendar uint8

const (
	NoCalendar Calendar = iota
	Day
	Week // from Monday
	Month
	Year
)

// An Op is one request to read or change a key: what a command is parsed into,
// what a log entry holds, and, with the time, all that a decision looks at.
type Op struct {
	Kind Kind
	Mode Mode
	// Group is how many ops, this and those behind it, are to be taken all or
	// none; 0 and 1 both say that it stands alone. All of a group are Takes
	// without a mode, and the ops behind the first have Group 0.
	Group  uint8
	Params Params
	// N is from 0 to MaxN; more is as good as MaxN. Of an Acquire it is 1.
	N   int64
	Key []byte
	ID  []byte
}

// looks says whether the op can change nothing.
func (op *Op) readOnly() bool {
	switch op.Kind {
	case Peek, Expect, Watch:
		return true
	case Take, Refund, Charge:
		return op.N == 0
	}
	return false
}

// A Status says whether an Op could be carried out at all.
type Status uint8

const (
	// OK means that the other fields of the Decision hold.
	OK Status = iota
	// Missing means that there is no such key.
	Missing
	// WrongType means that the key belongs to another algorithm: that of the Decision's
	// Params, until its Reset from now. In a group it is the answer to all, and those
	// without Params are of no such key.
	WrongType
	// NoMemory means that the key would need memory beyond the bound, or would be
	// a new one in a batch that is Full.
	NoMemory
	// Aborted means that an Expect of the batch did not hold.
	Aborted
	// Down means that no majority of a cluster could be asked: nothing was applied. It
	// is never an Engine's own answer.
	Down
)

// A Decision answers one Op.
type Decision struct {
	Status Status
	// Changed says that the op may have left the state or the parameters of a key
	// other than they were, so that a log of what happened needs it. Where it is
	// false the op changed nothing. In a group it is the same for all.
	Changed bool
	// Params are those in force for the key from this op on.
	Params Params
	// Allowed is 1 or 0; under Partial the permits granted. In a group it says
	// whether this limit by itself would pass: the group did if all of it are 1.
	Allowed int64
	// Remaining is how many whole permits are left after this decision.
	Remaining int64
	// Wait is how long until the same request would pass if nobody else asked, or
	// Never; 0 if it passed, except under LEAKY, where it is how long to hold it.
	Wait Span
	// Reset is how long until the key is as good as new.
	Reset Span
}

// A Span is a length of time, in whole milliseconds and the nanoseconds beyond
// them, rounded up to a nanosecond. Spans beyond 292 million years are cut to that.
type Span struct {
	Millis int64
	Nanos  int64 // 0 to 999_999
}

// Never is the wait of what can never pass.
var Never = Span{Millis: -1}

// CeilMillis is the span in milliseconds, rounded up; -1 for Never.
func (s Span) CeilMillis() int64 {
	if s.Nanos > 0 && s.Millis < math.MaxInt64 {
		return s.Millis + 1
	}
	return s.Millis
}
