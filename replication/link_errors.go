package replication

import (
	"errors"

	"limitsrv/persist"
)

var (
	// errNotAccepted: a batch was certainly not applied, and may be retried elsewhere.
	errNotAccepted = errors.New("the leader did not accept the request")
	// errUncertain: a batch may or may not have been applied.
	errUncertain = persist.ErrUncertain
)

// A codedError is an error of a node that may be shown to clients.
type codedError struct{ code, text string }

func (e *codedError) Error() string { return e.text }

// Code returns the code word that precedes the text in an answer to a client.
func (e *codedError) Code() string { return e.code }

// errorParts returns the code, "" if there is none, and the text under which an error is
// sent to another node.
func errorParts(err error) (code, text string) {
	var coded interface {
		error
		Code() string
	}
	if errors.As(err, &coded) {
		return coded.Code(), coded.Error()
	}
	return "", err.Error()
}

// errorOf returns the error of another node from its parts.
func errorOf(code, text string) error {
	switch code {
	case "":
		return errors.New(text)
	case errUncertainCode:
		return errUncertain
	}
	return &codedError{code, text}
}

// errUncertainCode is the code of errUncertain.
const errUncertainCode = "UNCERTAIN"
