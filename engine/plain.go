package engine

import (
	"encoding/binary"
	"strconv"

	"limitsrv/engine/values/numbers"
)

// plain is the meter of the rows of plain values, which have no parameters: a key has a
// permit in use until its value expires. So expiry, sweeps and snapshots of plain values
// work as for limits.
//
// State: the first word is the expiry in milliseconds since the Unix epoch, 0 for no
// expiry. The row of a string follows from the string: a number that Redis would store as a
// number is an INT, with the number in the second word; a string of up to 7, 15 or 23 bytes
// is a TEXT, see textState; any other a BLOB.
//
// As in Redis a value lives in the millisecond of its expiry.
type plain struct{}

const typeString = "STRING"

// Millis returns t in whole milliseconds since the Unix epoch, rounded down.
func (t Instant) Millis() int64 { return int64(t / 1e6) }

func (plain) used(c *cell, now Instant) int64 {
	if at := int64(c.state[0]); at != 0 && now.Millis() > at {
		return 0
	}
	return 1
}

func (plain) until(c *cell, now Instant, target int64) Span {
	if target > 0 {
		return Span{}
	}
	return untilExpiry(int64(c.state[0]), now)
}

// untilExpiry returns the time until a plain value with an expiry is gone, or Never.
func untilExpiry(at int64, now Instant) Span {
	switch {
	case at != 0 && now.Millis() > at:
		return Span{}
	case at == 0:
		return Never
	}
	left := Span{Millis: at - now.Millis(), Nanos: int64(1e6 - now%1e6)}
	if left.Nanos == 1e6 {
		left = Span{Millis: min(left.Millis, 1<<63-2) + 1}
	}
	return left
}

// lives reports whether the key in the cell is live.
func (c *cell) lives(now Instant) bool {
	if c.params.Alg.IsPlain() { // as most keys of calls are
		return plain{}.used(c, now) > 0
	}
	return c.meter().used(c, now) > 0
}

// lifetime returns the time until the key in the cell is gone, or Never.
func (c *cell) lifetime(now Instant) Span {
	if c.params.Alg.IsPlain() {
		return plain{}.until(c, now, 0)
	}
	return c.meter().until(c, now, 0)
}

// migrate: the parameters of all plain values are the same.
func (plain) migrate(c *cell, _ Instant, p Params) { c.params = p }

func (plain) valid(c *cell, _ Instant) bool { return int64(c.state[0]) >= 0 && c.past.isZero() }

// text is the meter of TEXT rows.
type text struct{ plain }

func (t text) valid(c *cell, now Instant) bool {
	if textLen(c) >= (c.alg().words-1)*wordBytes {
		return false
	}
	var b [maxText]byte
	alg, s := rowOf(appendText(b[:0], c))
	s[0] = c.state[0]
	return t.plain.valid(c, now) && alg == c.params.Alg && s == c.state
}

// maxText is the length of the longest string in the state of a record.
const maxText = 23

// textState returns the state of a string of up to maxText bytes: its bytes from the
// second word on, and its length in the last byte.
func textState(value []byte) (alg Alg, s state) {
	var b [maxText + 1]byte
	copy(b[:], value)
	words := len(value)/wordBytes + 1
	b[words*wordBytes-1] = byte(len(value))
	for i := range words {
		s[i+1] = binary.LittleEndian.Uint64(b[i*wordBytes:])
	}
	return Text8 + Alg(words-1), s
}

// appendText appends the string of a TEXT.
func appendText(dst []byte, c *cell) []byte {
	var b [maxText + 1]byte
	words := c.alg().words - 1
	for i := range words {
		binary.LittleEndian.PutUint64(b[i*wordBytes:], c.state[i+1])
	}
	return append(dst, b[:b[words*wordBytes-1]]...)
}

// textLen returns the length of the string of a TEXT.
func textLen(c *cell) int { return int(c.state[c.alg().words-1] >> 56) }

// rowOf returns the row of a string, and its state without an expiry unless it is a Blob.
func rowOf(value []byte) (Alg, state) {
	if n, ok := numbers.ParseInt(value); ok {
		return Int, state{1: uint64(n)}
	}
	if len(value) <= maxText {
		return textState(value)
	}
	return Blob, state{}
}

// plainLen returns the length of the string in the cell.
func (c *cell) plainLen() int {
	switch c.params.Alg {
	case Int:
		return numbers.IntBytes(int64(c.state[1]))
	case Blob:
		return int(c.state[2])
	}
	return textLen(c)
}

// appendPlain appends the string in the cell.
func (c *cell) appendPlain(dst []byte) []byte {
	switch c.params.Alg {
	case Int:
		return strconv.AppendInt(dst, int64(c.state[1]), 10)
	case Blob:
		t := c.string()
		return t.Append(dst, 0, t.Count)
	}
	return appendText(dst, c)
}
