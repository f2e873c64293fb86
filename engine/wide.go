package engine

import (
	"math"
	"math/bits"
)

// A wide is an unsigned integer of 128 bits. With an Instant below 2^63, a limit below
// 2^40, a Count and a Period below 2^60, and at most 2^62 drops in a nanosecond, no sum
// or product of the algorithms reaches 2^127, except where the code checks for it.
type wide struct{ hi, lo uint64 }

func mul(a, b uint64) wide {
	hi, lo := bits.Mul64(a, b)
	return wide{hi, lo}
}

func (a wide) add(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return wide{hi, lo}
}

// subSaturating returns a - b, or zero if b is larger.
func (a wide) subSaturating(b wide) wide {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, borrow := bits.Sub64(a.hi, b.hi, borrow)
	if borrow != 0 {
		return wide{}
	}
	return wide{hi, lo}
}

// times returns a * b; ok is false if the product exceeds a wide.
func (a wide) times(b uint64) (product wide, ok bool) {
	over, hi := bits.Mul64(a.hi, b)
	p := mul(a.lo, b)
	hi, carry := bits.Add64(p.hi, hi, 0)
	return wide{hi, p.lo}, over|carry == 0
}

// A triple is an unsigned integer of 192 bits.
type triple struct {
	hi  uint64
	low wide
}

// triple returns a * b.
func (a wide) triple(b uint64) triple {
	top, low := mul(a.hi, b), mul(a.lo, b)
	hi, carry := bits.Add64(top.lo, low.hi, 0)
	return triple{top.hi + carry, wide{hi, low.lo}}
}

func (a triple) less(b triple) bool {
	return a.hi < b.hi || a.hi == b.hi && a.low.less(b.low)
}

func (a wide) less(b wide) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

func (a wide) bitLen() int {
	if a.hi != 0 {
		return 64 + bits.Len64(a.hi)
	}
	return bits.Len64(a.lo)
}

func (a wide) isZero() bool { return a.hi|a.lo == 0 }

// div returns the quotient and the remainder by d > 0.
func (a wide) div(d uint64) (wide, uint64) {
	if a.hi == 0 {
		return wide{0, a.lo / d}, a.lo % d
	}
	hi, rest := a.hi/d, a.hi%d
	lo, rest := bits.Div64(rest, a.lo, d)
	return wide{hi, lo}, rest
}

// ceilDiv returns a / d rounded up, d > 0.
func (a wide) ceilDiv(d uint64) wide {
	if d == 1 {
		return a
	}
	q, rest := a.div(d)
	if rest > 0 {
		q = q.add(wide{0, 1})
	}
	return q
}

// min64 returns the lesser of a and m.
func (a wide) min64(m uint64) uint64 {
	if a.hi != 0 || a.lo > m {
		return m
	}
	return a.lo
}

// span converts a from nanoseconds.
func (a wide) span() Span {
	ms, ns := a.div(1e6)
	if ms.hi != 0 || ms.lo > math.MaxInt64 {
		return Span{Millis: math.MaxInt64}
	}
	return Span{Millis: int64(ms.lo), Nanos: int64(ns)}
}

// spanOf returns ns nanoseconds, or 0 if ns is negative.
func spanOf(ns int64) Span {
	ns = max(ns, 0)
	return Span{Millis: ns / 1e6, Nanos: ns % 1e6}
}
