package answer

import (
	"strconv"

	"limitsrv/engine/values/numbers"
)

// A Protocol is a version of RESP.
type Protocol uint8

const (
	RESP2 Protocol = 2
	RESP3 Protocol = 3
)

// MaxRatio times the length of its reply, in either protocol, bounds an answer: a Double has 9
// bytes, its reply 4 or more.
const MaxRatio = 3

// AppendTo appends an answer in a protocol to dst. Requires: the answer is Valid. Cost:
// linear; no allocation if dst has capacity.
func AppendTo(dst, answer []byte, p Protocol) []byte {
	for len(answer) > 0 {
		if n, rest, ok := TakeInt(answer); ok {
			dst, answer = appendNumber(append(dst, ':'), n), rest
			continue
		}
		v, rest, ok := Next(answer)
		if !ok {
			panic("answer: invalid bytes")
		}
		dst, answer = appendValue(dst, &v, p), rest
	}
	return dst
}

// appendValue appends a value that is no Integer, without the values within: they follow.
func appendValue(dst []byte, v *Value, p Protocol) []byte {
	switch v.Kind {
	case Nil:
		if p == RESP3 {
			return append(dst, "_\r\n"...)
		}
		return append(dst, "$-1\r\n"...)
	case NilArray:
		if p == RESP3 {
			return append(dst, "_\r\n"...)
		}
		return append(dst, "*-1\r\n"...)
	case False, True:
		return appendTruth(dst, v.Kind == True, p)
	case Double:
		return appendDouble(dst, v.Double, p)
	case Status:
		return appendLine(append(dst, '+'), v.Bytes)
	case Error:
		return appendLine(append(dst, '-'), v.Bytes)
	case Verbatim:
		if p == RESP3 {
			return appendLine(appendNumber(append(dst, '='), int64(len(v.Bytes))), v.Bytes)
		}
		return appendBulk(dst, v.Bytes[4:])
	case BigNumber:
		if p == RESP3 {
			return appendLine(append(dst, '('), v.Bytes)
		}
		return appendBulk(dst, v.Bytes)
	case Bulk:
		return appendBulk(dst, v.Bytes)
	}
	if v.Kind == Pair && p == RESP2 {
		return dst
	}
	sign, n := byte('*'), v.Len
	if v.Kind == Pairs && p == RESP2 {
		n *= 2
	} else if p == RESP3 && v.Kind == Map {
		sign, n = '%', n/2
	} else if p == RESP3 && v.Kind == Set {
		sign = '~'
	}
	return appendNumber(append(dst, sign), int64(n))
}

func appendTruth(dst []byte, b bool, p Protocol) []byte {
	switch {
	case p == RESP3 && b:
		return append(dst, "#t\r\n"...)
	case p == RESP3:
		return append(dst, "#f\r\n"...)
	case b:
		return append(dst, ":1\r\n"...)
	}
	return append(dst, ":0\r\n"...)
}

// appendDouble appends a number as Redis 7.2 does.
func appendDouble(dst []byte, f float64, p Protocol) []byte {
	var b [32]byte
	text := numbers.AppendDouble(b[:0], f)
	if p == RESP3 {
		return appendLine(append(dst, ','), text)
	}
	return appendBulk(dst, text)
}

func appendBulk(dst, b []byte) []byte {
	return appendLine(appendNumber(append(dst, '$'), int64(len(b))), b)
}

func appendLine(dst, b []byte) []byte { return append(append(dst, b...), "\r\n"...) }

func appendNumber(dst []byte, n int64) []byte {
	if uint64(n) < 10 {
		return append(dst, '0'+byte(n), '\r', '\n')
	}
	return append(strconv.AppendInt(dst, n, 10), "\r\n"...)
}
