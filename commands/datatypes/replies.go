package datatypes

import (
	"strings"

	"limitsrv/engine/answer"
)

// The errors of several commands.
const (
	errWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errFull      = "OOM command not allowed when used memory > 'maxmemory'."
	errSyntax    = "ERR syntax error"
	errNotInt    = "ERR value is not an integer or out of range"
	errTooLong   = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
)

// ErrFull is the error of other commands that need memory beyond the bound.
const ErrFull = errFull

// errExpire is the error of a command about its expiry.
func errExpire(name string) string { return "ERR invalid expire time in '" + name + "' command" }

// errArity is the error of a command about the number of its words.
func errArity(name string) string {
	return "ERR wrong number of arguments for '" + strings.ToLower(name) + "' command"
}

// fail answers an error.
func fail(out []byte, text string) []byte { return answer.AppendError(out, text) }

// truth answers 1 or 0.
func truth(out []byte, b bool) []byte {
	if b {
		return answer.AppendInt(out, 1)
	}
	return answer.AppendInt(out, 0)
}
