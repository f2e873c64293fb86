package session

import "strings"

// L is an array as the clients have it, of int64, string or []byte, nil and L; and
// one that is wanted, of int, string, nil, Range and L.
type L = []any

// Range is any integer from the first to the second.
type Range [2]int64

// Lately is ms, or up to a minute less: what is left of ms that a case has just seen.
func Lately(ms int64) Range { return Range{ms - 60_000, ms} }

// Fresh is the first answer for RL.TOKEN with 10 10/h.
var Fresh = L{1, 10, 9, 0, 360_000}

// Peeked is what RL.PEEK tells of that.
var Peeked = L{"TOKEN", 10, 9, 0, Lately(360_000)}

// ErrArguments is the error for an RL.TOKEN that is too short.
const ErrArguments = "ERR wrong number of arguments for 'rl.token' command; usage: RL.TOKEN key capacity rate [n] [PARTIAL] [SHADOW]"

// Reply is what a client gave for a command.
type Reply struct {
	value any
	err   error
}

// Got takes what a client gave, and is to be asked for what is wanted.
func Got(value any, err error) Reply { return Reply{value, err} }

// Want fails unless the reply is this.
func (r Reply) Want(want any) {
	if r.err != nil {
		Fail(r.err, want)
	}
	if !matches(r.value, want) {
		Fail(r.value, want)
	}
}

// WantError fails unless the reply is an error of one of these texts, or of one of
// these codes followed by anything. Clients may leave out "ERR " and a blank at the end.
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

// At is an integer of an array.
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
