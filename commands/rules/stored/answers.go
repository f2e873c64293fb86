package stored

import (
	"errors"
	"strings"

	"limitsrv/commands/resp"
	"limitsrv/engine/answer"
)

// A LoadAnswer is the answer to a load.
type LoadAnswer struct {
	// Loaded is set if the text is in use now. Otherwise nothing has changed: Version is the
	// version of the rules in use, and Unchanged is set if they have the same text.
	Loaded, Unchanged bool
	Version           uint64
	Documents         uint64 // version of the documents then
}

var errAnswer = errors.New("an answer of rules that can not be")

// ReadLoad reads the answer to a call of SetLoad. The error is an *resp.Error from the node that
// applied it.
func ReadLoad(neutral []byte) (a LoadAnswer, err error) {
	values, err := integers(neutral, 3)
	if err != nil {
		return a, err
	}
	return LoadAnswer{
		Loaded: values[0] == loaded, Unchanged: values[0] == unchanged, Version: uint64(values[1]),
		Documents: uint64(values[2]),
	}, nil
}

// ReadVersion reads the version from the answer to a call of SetVersion.
func ReadVersion(neutral []byte) (uint64, error) {
	values, err := integers(neutral, 1)
	if err != nil {
		return 0, err
	}
	return uint64(values[0]), nil
}

// integers reads the first n values of an array, which are integers.
func integers(neutral []byte, n int) ([]int64, error) {
	v, rest, _ := answer.Next(neutral)
	if v.Kind == answer.Error {
		code, text, _ := strings.Cut(string(v.Bytes), " ")
		return nil, resp.NewError(code, text)
	}
	var all []int64
	for range n {
		if v, rest, _ = answer.Next(rest); v.Kind != answer.Integer {
			return nil, errAnswer
		}
		all = append(all, v.Int)
	}
	return all, nil
}
