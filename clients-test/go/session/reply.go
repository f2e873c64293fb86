package session

import "strings"

// L is an array in a reply, of int64, string or []byte, nil and L; or an expected array,
// of int, string, nil, Range and L.
type L = []any

// Range is an inclusive range of expected integers.
type Range [2]int64

// Lately is ms, or up to a minute less: the remainder of a time seen earlier in the case.
func Lately(ms int64) Range { return Range{ms - 60_000, ms} }

// Fresh is the first reply to RL.TOKEN with 10 10/h.
var Fresh = L{1, 10, 9, 0, 360_000}

// Peeked is the reply of RL.PEEK after it.
var Peeked = L{"TOKEN", 10, 9, 0, Lately(360_000)}

// ErrArguments is the error of an RL.TOKEN with too few arguments.
const ErrArguments = "ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] " +
	"[PARTIAL] [SHADOW] [ONCE id [FOR duration]]"

// Reply is the result of a command.
type Reply struct {
	value any
	err   error
}

// Got returns the result of a command, to be checked by Want or WantError.
func Got(value any, err error) Reply { return Reply{value, err} }

// Want fails unless the reply matches want.
func (r Reply) Want(want any) {
	if r.err != nil {
		Fail(r.err, want)
	}
	if !matches(r.value, want) {
		Fail(r.value, want)
	}
}

// WantError fails unless the reply is an error with one of these texts, or with one of
// these codes followed by any text. Clients may omit "ERR " and a trailing blank.
func (r Reply) WantError(texts ...string) {
	if r.err == nil {
		Fail(r.value, "an error "+strings.Join(texts, " or "))
	}
	for _, text := range texts {
		got := strings.TrimRight(r.err.Error(), " ")
		isCode := !strings.Contains(text, " ") && strings.HasPrefix(got, text+" ")
		if isCode || got == text || got == strings.TrimPrefix(text, "ERR ") {
			return
		}
	}
	Fail(r.err, strings.Join(texts, " or "))
}

// At returns element i of an array of integers.
func (r Reply) At(i int) int64 {
	Check(r.err)
	list, isList := r.value.(L)
	if !isList || len(list) <= i {
		Fail(r.value, "a longer array")
	}
	n, isInt := list[i].(int64)
	if !isInt {
		Fail(list[i], "an integer")
	}
	return n
}

func matches(got, want any) bool {
	switch want := want.(type) {
	case int:
		return got == int64(want)
	case Range:
		n, ok := got.(int64)
		return ok && want[0] <= n && n <= want[1]
	case string:
		if bytes, ok := got.([]byte); ok {
			return string(bytes) == want
		}
		return got == want
	case L:
		list, ok := got.(L)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			if !matches(list[i], want[i]) {
				return false
			}
		}
		return true
	}
	return got == want
}
