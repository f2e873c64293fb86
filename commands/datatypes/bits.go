package datatypes

import (
	"encoding/binary"
	"math/bits"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

const (
	errBit       = "ERR bit is not an integer or out of range"
	errBitOffset = "ERR bit offset is not an integer or out of range"
)

// maxBitOffset bounds the offsets of bits in a command, as Redis does. Only bits within
// engine.MaxValueBytes can be written.
const maxBitOffset = 512 << 20 * 8

// parseBitOffset parses the offset of a bit. With a width above 0 the form #n is n times the
// width.
func parseBitOffset(arg []byte, width int) (at int64, ok bool) {
	scale := int64(1)
	if width > 0 && len(arg) > 0 && arg[0] == '#' {
		arg, scale = arg[1:], int64(width)
	}
	at, ok = numbers.ParseInt(arg)
	at *= scale
	return at, ok && at >= 0 && at < maxBitOffset
}

// bitOf returns the bit of a byte at an offset from the start of a string.
func bitOf(b byte, at int64) int64 { return int64(b >> (7 - at&7) & 1) }

// byteOf returns a byte of a string, 0 beyond its end.
func byteOf(tx *engine.Tx, e engine.Entry, has found, at int64) byte {
	if has == nothing || at >= int64(tx.Len(e)) {
		return 0
	}
	tx.Scratch = tx.Range(e, int(at), int(at)+1, tx.Scratch[:0])
	return tx.Scratch[0]
}

func getBit(tx *engine.Tx, args [][]byte, out []byte) []byte {
	at, ok := parseBitOffset(args[1], 0)
	if !ok {
		return fail(out, errBitOffset)
	}
	e, has := findString(tx, args[0])
	if has == wrongType {
		return fail(out, errWrongType)
	}
	return answer.AppendInt(out, bitOf(byteOf(tx, e, has, at/8), at))
}

func setBit(tx *engine.Tx, args [][]byte, out []byte) []byte {
	at, ok := parseBitOffset(args[1], 0)
	if !ok {
		return fail(out, errBitOffset)
	}
	bit, ok := numbers.ParseInt(args[2])
	if !ok || bit>>1 != 0 {
		return fail(out, errBit)
	}
	e, has := findString(tx, args[0])
	switch {
	case has == wrongType:
		return fail(out, errWrongType)
	case at/8 >= engine.MaxValueBytes:
		return fail(out, errTooLong)
	}
	b := byteOf(tx, e, has, at/8)
	old := bitOf(b, at)
	b ^= byte(old^bit) << (7 - at&7)
	tx.Scratch = append(tx.Scratch[:0], b)
	if _, ok := tx.Write(e, int(at/8), tx.Scratch); !ok {
		return fail(out, errFull)
	}
	return answer.AppendInt(out, old)
}

// bitCount answers 0 for a missing key only after its arguments were checked, as Redis 7.2.
func bitCount(tx *engine.Tx, args [][]byte, out []byte) []byte {
	unit, from, to := int64(8), int64(0), int64(-1)
	if len(args) > 1 {
		var ok, ok2 bool
		if len(args) > 2 {
			from, ok = numbers.ParseInt(args[1])
			to, ok2 = numbers.ParseInt(args[2])
		}
		switch {
		case len(args) == 2 || len(args) > 4:
			return fail(out, errSyntax)
		case !ok || !ok2:
			return fail(out, errNotInt)
		case len(args) == 4 && isWord(args[3], "BIT"):
			unit = 1
		case len(args) == 4 && !isWord(args[3], "BYTE"):
			return fail(out, errSyntax)
		}
	}
	e, has := findString(tx, args[0])
	switch has {
	case nothing:
		return answer.AppendInt(out, 0)
	case wrongType:
		return fail(out, errWrongType)
	}
	from, to, ok := rangeOf(from, to, int64(tx.Len(e))*8/unit)
	if !ok {
		return answer.AppendInt(out, 0)
	}
	tx.AddBytes(int((to - from) * unit / 8))
	return answer.AppendInt(out, countBits(tx, e, from*unit, to*unit))
}

// countPiece is the number of bytes that countBits copies at a time.
const countPiece = 4 << 10

// countBits counts the bits that are set from an offset up to another.
func countBits(tx *engine.Tx, e engine.Entry, from, to int64) (n int64) {
	first, end := from/8, (to+7)/8
	for at := first; at < end; at += countPiece {
		tx.Scratch = tx.Range(e, int(at), int(min(at+countPiece, end)), tx.Scratch[:0])
		b := tx.Scratch
		if at == first {
			b[0] &= 0xff >> (from & 7)
		}
		if at+countPiece >= end && to&7 != 0 {
			b[len(b)-1] &= 0xff << (8 - to&7)
		}
		for ; len(b) >= 8; b = b[8:] {
			n += int64(bits.OnesCount64(binary.LittleEndian.Uint64(b)))
		}
		for _, one := range b {
			n += int64(bits.OnesCount8(one))
		}
	}
	return n
}
