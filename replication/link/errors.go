package link

import (
	"errors"

	"limitsrv/persist"
)

// An Error is an error of a node that may be shown to clients. It is comparable.
type Error struct{ code, text string }

// NewError returns an error with a code, the first word of an answer to a client.
func NewError(code, text string) *Error { return &Error{code, text} }

func (e *Error) Error() string { return e.text }

// Code returns the code word that precedes the text in an answer to a client.
func (e *Error) Code() string { return e.code }

// ErrorParts returns the code of an error ("" without a code) and its text, as they are
// sent to another node.
func ErrorParts(err error) (code, text string) {
	var coded interface {
		error
		Code() string
	}
	if errors.As(err, &coded) {
		return coded.Code(), coded.Error()
	}
	return "", err.Error()
}

// ErrorOf returns the error of another node from its parts.
func ErrorOf(code, text string) error {
	switch code {
	case "":
		return errors.New(text)
	case uncertainCode:
		return persist.ErrUncertain
	}
	return &Error{code, text}
}

// uncertainCode is the code of persist.ErrUncertain.
const uncertainCode = "UNCERTAIN"
