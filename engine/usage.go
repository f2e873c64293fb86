package engine

import "iter"

// A Usage describes the parameters of an algorithm to parsers, help and docs.
type Usage struct {
	// Limit is the name of the first parameter, and MaxLimit its maximum.
	Limit    string
	MaxLimit int64
	// Period is the second parameter.
	Period PeriodKind
	// Summary, Complexity and Since describe the command that takes permits. They are empty
	// if permits are no numbers: leases have commands of their own, and penalty boxes have
	// no commands.
	Summary, Complexity, Since string
	// Title is the algorithm in words, and Form a limit: {limit}, {tokens} and {denials} in it stand
	// for Limit, {rate}, {window} and {period} for the second parameter, and {period} for a Calendar
	// too. The page of --admin shows both.
	Title, Form string
}

// A PeriodKind is the meaning of Count, Period and Calendar in Params.
type PeriodKind uint8

const (
	// Rate is Count permits per Period, in lowest terms.
	Rate PeriodKind = iota
	// Window is a window of Period.
	Window
	// CalendarWindow is a window of Period, or of a Calendar.
	CalendarWindow
	// TTL is the Period of a lease: it then ends unless it is renewed.
	TTL
	// Times are the times of a Penalty.
	Times
)

// String returns the name of the parameter.
func (k PeriodKind) String() string {
	return [...]string{Rate: "rate", Window: "window", CalendarWindow: "window", TTL: "ttl", Times: "times"}[k]
}

// IsKnown reports whether a number from outside is of a row in the table of algorithms.
func (a Alg) IsKnown() bool { return a < limits || a.IsPlain() && a < algs }

// Usage returns the description of the parameters of an algorithm.
func (a Alg) Usage() Usage { return algorithms[a].usage }

// IsCounted reports whether the permits of an algorithm are numbers, for Take, Refund and
// Charge: neither leases, for Acquire and Release, nor strikes, for a Guard.
func (a Alg) IsCounted() bool { return algorithms[a].limiter != nil }

// Holds reports whether a granted permit must be used only after all permits granted before it
// have drained.
func (a Alg) Holds() bool { return algorithms[a].holds }

// IsPlain reports whether the row is of plain values and not of a limit.
func (a Alg) IsPlain() bool { return a >= firstPlain }

// IsValue reports whether the row is of values of Redis' types, which have commands that move them and
// change their expiry.
func (a Alg) IsValue() bool { return a.IsPlain() && !a.IsID() }

// IsID reports whether the row is of ids: of receipts and of records of reservations.
func (a Alg) IsID() bool { return a == IDReceipt || a == IDRecord }

// Algs yields all algorithms of limits in the order of their numbers.
func Algs() iter.Seq[Alg] {
	return func(yield func(Alg) bool) {
		for a := range limits {
			if !yield(a) {
				return
			}
		}
	}
}
