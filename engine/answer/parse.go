package answer

import (
	"bytes"
	"strconv"
)

// AppendReply appends the neutral form of a reply in RESP2 to dst. Requires: the reply is
// whole and has come from this program.
func AppendReply(dst, reply []byte) []byte {
	for len(reply) > 0 {
		line, rest, _ := bytes.Cut(reply, []byte("\r\n"))
		sign, text := line[0], line[1:]
		switch sign {
		case '+':
			dst = AppendStatus(dst, string(text))
		case '-':
			dst = AppendError(dst, string(text))
		default:
			n, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil {
				panic("answer: invalid reply")
			}
			switch {
			case sign == ':':
				dst = AppendInt(dst, n)
			case sign == '*' && n < 0:
				dst = AppendNilArray(dst)
			case sign == '*':
				dst = AppendArray(dst, int(n))
			case n < 0:
				dst = AppendNil(dst)
			default:
				dst, rest = AppendBulk(dst, rest[:n]), rest[n+2:]
			}
		}
		reply = rest
	}
	return dst
}
