package engine

import (
	"encoding/binary"
	"fmt"
)

// Params are the parameters of a limit. The Params of a plain value have only Alg. They are comparable, and
// equal if they mean the same: rates are in lowest terms.
type Params struct {
	Alg Alg
	// Calendar, for FIXED only, replaces Period by a span of the UTC calendar.
	Calendar Calendar
	// Growth is for PENALTY only, see Penalty.Params.
	Growth uint16
	// Limit is the capacity or limit, 1 to the MaxLimit of the algorithm's Usage.
	Limit int64
	// Count is the number of permits earned back per Period: TOKEN and LEAKY only, 1 to
	// MaxRateCount, at most one per nanosecond, in lowest terms with Period.
	Count int64
	// Period is in nanoseconds: of a rate, a window, or a ttl. Of a PENALTY, Count and Period
	// are two lengths of time each.
	Period int64
}

// Check returns an error if parameters from outside are invalid. It does not check that a
// rate is in lowest terms.
func (p *Params) Check() error {
	if !p.Alg.IsKnown() {
		return fmt.Errorf("unknown algorithm %d", p.Alg)
	}
	if p.Alg.IsPlain() {
		if *p != (Params{Alg: p.Alg}) {
			return fmt.Errorf("parameters of a plain value: %+v", *p)
		}
		return nil
	}
	if p.Alg == Box {
		return p.checkBox()
	}
	var (
		u     = &p.alg().usage
		rated = u.Period == Rate
	)
	switch {
	case p.Growth != 0:
		return fmt.Errorf("%v can not have a growth", p.Alg)
	case p.Limit < 1 || p.Limit > u.MaxLimit:
		return fmt.Errorf("limit %d of %v is out of range, 1 to %d", p.Limit, p.Alg, u.MaxLimit)
	case rated && (p.Count < 1 || p.Count > MaxRateCount || p.Period < p.Count || p.Period > MaxRatePeriod):
		return fmt.Errorf("rate of %d per %d ns is out of range", p.Count, p.Period)
	case !rated && p.Count != 0:
		return fmt.Errorf("%v can not have a rate", p.Alg)
	case p.Calendar > Year || p.Calendar != NoCalendar && (u.Period != CalendarWindow || p.Period != 0):
		return fmt.Errorf("calendar %d is invalid for %v with a window of %d ns", p.Calendar, p.Alg, p.Period)
	case !rated && p.Calendar == NoCalendar && (p.Period < MinPeriod || p.Period > MaxPeriod):
		return fmt.Errorf("window of %d ns is out of range, %d to %d", p.Period, MinPeriod, int64(MaxPeriod))
	}
	return nil
}

// IsReduced reports whether a rate is in lowest terms, as the Params of an Op must be.
// Requires: p.Check() == nil.
func (p *Params) IsReduced() bool {
	return p.Count == 0 || p.Alg == Box || gcd(uint64(p.Period), uint64(p.Count)) == 1
}

// Reduce puts a rate in lowest terms. Requires: p.Check() == nil.
func (p *Params) Reduce() {
	if p.Count > 0 {
		d := int64(gcd(uint64(p.Period), uint64(p.Count)))
		p.Period, p.Count = p.Period/d, p.Count/d
	}
}

// Append appends the encoding of parameters: Alg and Calendar, a byte each; Limit, Count
// and Period, as unsigned varints; and for PENALTY Growth. It is part of the formats of
// logs, snapshots and links.
func (p *Params) Append(dst []byte) []byte {
	dst = append(dst, byte(p.Alg), byte(p.Calendar))
	dst = binary.AppendUvarint(dst, uint64(p.Limit))
	dst = binary.AppendUvarint(dst, uint64(p.Count))
	dst = binary.AppendUvarint(dst, uint64(p.Period))
	if p.Alg == Box {
		dst = binary.AppendUvarint(dst, uint64(p.Growth))
	}
	return dst
}

// The flags of a block in the byte of Alg.
const (
	pastFlag = 0x80
	dbFlag   = 0x40
	heldFlag = 0x10 // only in blocks, of limits
	algFlags = pastFlag | dbFlag
)

// Decode sets p to the parameters at the start of data, which may be any bytes, and
// returns their length, 0 if data ends too early, or -1 if a number has more than 64 bits.
// p must then be checked: numbers from 2^63 on are negative. The flags of a block may be set
// in Alg. Requires: p is zero.
func (p *Params) Decode(data []byte) (n int) {
	if len(data) < 2 {
		return 0
	}
	p.Alg, p.Calendar = Alg(data[0]), Calendar(data[1])
	n = 2
	for _, to := range [...]*int64{&p.Limit, &p.Count, &p.Period} {
		v, size := binary.Uvarint(data[n:])
		if size <= 0 {
			return max(size, -1)
		}
		*to = int64(v)
		n += size
	}
	if p.Alg&^algFlags != Box {
		return n
	}
	v, size := binary.Uvarint(data[n:])
	if size <= 0 {
		return max(size, -1)
	}
	p.Growth = uint16(min(v, 1<<16-1)) // which is out of range
	return n + size
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
